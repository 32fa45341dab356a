package config

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/httptoken"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// transport decides between the transports and reads the chosen one.
func (s *settings) transport() transport.Transport {
	typ := s.string("type")
	kind, ok := types[typ]
	if !ok {
		if typ != "" && s.isKnown(typ) {
			s.noteMistake(s.node["type"].line, s.keyPath("type"), "unknown type; want stdio, http, streamable-http or sse")
		}
		kind = s.impliedType()
	}
	if kind == "stdio" {
		return s.command()
	}
	h := s.remote()
	h.SSE = kind == "sse"
	return h
}

// impliedType returns the type of a server that names none, by its other keys.
func (s *settings) impliedType() string {
	_, local := s.node["command"]
	_, remote := s.node["url"]
	if local == remote {
		s.noteMistake(s.line, s.key, `want either "command", for a program to start, or "url", for a server to call`)
	}
	if local {
		return "stdio"
	}
	return "http"
}

func (s *settings) command() *mcpclient.Command {
	s.refuseKeys("a server that is started by command", "url", "headers", "oauth")
	c := &mcpclient.Command{Path: s.required("command"), Args: s.list("args"), Dir: s.string("cwd"), Env: s.environment()}
	if !s.d.preview && s.isUsable() && strings.ContainsAny(c.Path, " \t") && isMissing(c.Path, c.Dir) {
		s.noteMistake(s.node["command"].line, s.key+".command", `there is no such program; arguments belong in "args", each a string of its own`)
	}
	return c
}

func (s *settings) remote() *mcpclient.HTTP {
	s.refuseKeys("a server that is called by url", "command", "args", "cwd", "env", "envFile")
	h := &mcpclient.HTTP{URL: s.required("url")}
	if s.isKnown(h.URL) && !isHTTP(h.URL) { // the error of url.Parse shows the query, which may hold a token
		s.noteMistake(s.node["url"].line, s.keyPath("url"), "want a complete http or https URL")
	}
	h.Header = s.headers()
	return h
}

func isHTTP(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// headers reads the extra headers of a server's requests.
func (s *settings) headers() http.Header {
	if _, ok := s.node["headers"]; !ok {
		return nil
	}
	header := http.Header{}
	for _, p := range s.pairs("headers") {
		switch {
		case !httptoken.Valid(p.name):
			s.noteMistake(p.line, p.key, "not the name of an HTTP header")
		case strings.ContainsFunc(p.value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			s.noteMistake(p.line, p.key, "the value has a line break or another control character")
		case header.Values(p.name) != nil:
			s.noteMistake(p.line, p.key, "this header is here for the second time")
		}
		header.Add(p.name, p.value)
	}
	return header
}

// revision reads the protocol revision to speak, "" for the newest.
func (s *settings) revision() string {
	revision := s.string("revision")
	if revision != "" && s.isKnown(revision) && !slices.Contains(mcpclient.Revisions(), revision) {
		s.noteMistake(s.node["revision"].line, s.keyPath("revision"),
			"unknown revision; want one of %s", strings.Join(mcpclient.Revisions(), ", "))
	}
	return revision
}

// start reads when to connect to the server.
func (s *settings) start() string {
	start := s.string("start")
	if start != "" && start != "lazy" && s.isKnown(start) {
		s.noteMistake(s.node["start"].line, s.keyPath("start"), `want "lazy", or leave it out`)
	}
	return start
}

// maxTimeout bounds the timeout of a server.
const maxTimeout = 24 * time.Hour

// timeout returns the longest silence of a call, 0 if the file sets none. A number below 1,000
// counts seconds, one above 3,600 milliseconds, and one in between is refused: most programs use
// milliseconds, Cline uses seconds from 30 to 3,600.
func (s *settings) timeout() (d time.Duration) {
	m, ok := s.node["timeout"]
	if !ok || m.value.kind == kindNull {
		return 0
	}
	key := s.keyPath("timeout")
	switch m.value.kind {
	case kindString:
		text := s.text(m.value, key)
		if !s.isKnown(text) {
			return 0
		}
		d, _ = time.ParseDuration(text) // an error leaves 0, which is refused below
	case kindNumber:
		n, err := json.Number(m.value.text).Int64()
		switch {
		case err != nil || n <= 0 || n > maxTimeout.Milliseconds():
		case n < 1000:
			d = time.Duration(n) * time.Second
		case n <= 3600:
			s.noteMistake(m.line, key, `milliseconds in some programs, seconds in others; write "%dms" or "%ds"`, n, n)
			return 0
		default:
			d = time.Duration(n) * time.Millisecond
		}
	}
	if d <= 0 || d > maxTimeout {
		s.noteMistake(m.line, key, `want text such as "90s", a number of seconds below 1,000, or one of milliseconds above 3,600; up to 24 hours`)
	}
	return d
}

// tools returns the tools to use and those to leave out. An empty list of tools to use is a mistake. If the program
// does not choose tools, a list that would change something is an unsupported need.
func (s *settings) tools() (allow, deny []string) {
	allow, deny = s.list("includeTools"), s.list("excludeTools")
	if m, ok := s.node["includeTools"]; ok && len(allow) == 0 {
		s.noteMistake(m.line, s.keyPath("includeTools"), `allows no tool; remove the key to use all, or set "disabled"`)
	}
	if !s.d.opts.AllowFilters && (deny != nil || !allowsAll(allow)) {
		key := "includeTools"
		if allowsAll(allow) {
			key = "excludeTools"
		}
		s.noteUnsupported(s.node[key].line, s.keyPath(key), "not supported: this program does not choose tools by the file")
	}
	return allow, deny
}

// allowsAll reports whether a list of tools to use names all of them.
func allowsAll(allow []string) bool { return allow == nil || slices.Contains(allow, "*") }
