package config

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/httptoken"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// decoder turns a document into servers.
type decoder struct {
	file     string
	readFile func(path string) ([]byte, error) // reads environment files
	inputs   map[string]func() (string, error) // by id: asks a person for the value, once; nil: do not ask
	preview  bool                              // leave variables as they are, and look for no other file
	only     []string                          // the servers to read; nil: all
	names    []string                          // the names of the servers of the file
	filters  bool                              // whether the caller uses Allow and Deny
	signIn   bool                              // whether the caller uses OAuth
}

func (d *decoder) errorf(line int, key, format string, args ...any) *fault {
	return &fault{place{d.file, line, key}, fmt.Sprintf(format, args...)}
}

func (d *decoder) decode(root *node) ([]Server, error) {
	if err := d.checkKind(root, "", kindObject); err != nil {
		return nil, err
	}
	all, err := d.sections(root)
	if err != nil {
		return nil, err
	}
	var servers []Server
	indexes := map[string]int{}
	for _, s := range all {
		servers = d.appendServers(servers, indexes, s)
	}
	return servers, d.checkOnly(indexes)
}

// checkOnly reports a server that was asked for and is missing.
func (d *decoder) checkOnly(indexes map[string]int) error {
	for _, name := range d.only {
		if _, ok := indexes[name]; !ok {
			return d.errorf(1, "", "there is no server %s%s", quoteKey(name), d.suggestServers(name))
		}
	}
	return nil
}

// maxSuggested bounds the servers that an error names.
const maxSuggested = 20

// suggestServers lists the servers of the file, for the error of a missing one.
func (d *decoder) suggestServers(name string) string {
	names := slices.Compact(slices.Sorted(slices.Values(d.names)))
	if len(names) == 0 {
		return ""
	}
	hint := "; "
	if near := spelling.Nearest(name, names); near != "" {
		hint += "did you mean " + quoteKey(near) + "? "
	}
	var some []string
	for _, n := range names[:min(len(names), maxSuggested)] {
		some = append(some, quoteKey(n))
	}
	if more := len(names) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return hint + "the file has " + strings.Join(some, ", ")
}

// appendServers appends the servers of one object, and adds their positions to indexes. A server that
// is there twice cannot be used, as either entry may be meant.
func (d *decoder) appendServers(all []Server, indexes map[string]int, in section) []Server {
	for _, s := range in.servers.value.members {
		d.names = append(d.names, s.key)
		if d.only != nil && !slices.Contains(d.only, s.key) {
			continue
		}
		key := in.key + "." + keyName(s.key)
		if first, twice := indexes[s.key]; twice {
			line := all[first].place.Line
			err := d.errorf(s.line, key, "this server is on line %d already", line)
			all[first] = Server{Name: s.key, place: place{d.file, line, key}, Transport: &undialable{err}, Err: err}
			continue
		}
		indexes[s.key] = len(all)
		all = append(all, d.server(key, s))
	}
	return all
}

// settings is one server's entry, with every key checked and read. After the first mistake it reads
// nothing more.
type settings struct {
	d           *decoder
	key         string
	line        int
	node        map[string]member
	err         error  // the first mistake
	unsupported *fault // the first unsupported need
}

// noteMistake records a mistake at a key, unless there is an earlier one.
func (s *settings) noteMistake(line int, key, format string, args ...any) {
	s.note(s.d.errorf(line, key, format, args...))
}

// note records the first mistake.
func (s *settings) note(err error) { s.err = cmp.Or(s.err, err) }

// requireKind reports whether a value is of a kind, and records a mistake if it is not.
func (s *settings) requireKind(n *node, key string, k kind) bool {
	if n.kind != k {
		s.note(s.d.checkKind(n, key, k))
	}
	return n.kind == k
}

// noteUnsupported records the first unsupported need of the server.
func (s *settings) noteUnsupported(line int, key, format string, args ...any) {
	if s.unsupported == nil {
		s.unsupported = s.d.errorf(line, key, format, args...)
	}
}

// server reads one server. A mistake goes into its Err and does not affect the others.
func (d *decoder) server(key string, m member) Server {
	server := Server{Name: m.key, place: place{d.file, m.line, key}}
	s := &settings{d: d, key: key, line: m.line, node: map[string]member{}}
	s.check(m)
	disabled := s.disabled()
	if s.err == nil && !disabled {
		s.read(&server)
	}
	if s.err != nil {
		server = Server{Name: m.key, place: server.place, Err: s.err}
		if !disabled {
			server.Transport = &undialable{s.err}
		}
	}
	server.Disabled = disabled
	return server
}

func (s *settings) read(server *Server) {
	server.Transport = s.transport()
	server.Revision = s.revision()
	server.Start = s.start()
	server.Timeout = s.timeout()
	server.OAuth = s.oauth()
	server.EnvFile = s.string("envFile")
	server.Allow, server.Deny = s.tools()
	if s.unsupported != nil {
		s.note(s.unsupported)
	}
}

// check checks the name and the keys, and keeps the known keys.
func (s *settings) check(m member) {
	if !s.requireKind(m.value, s.key, kindObject) {
		return
	}
	switch {
	case strings.TrimSpace(m.key) == "":
		s.noteMistake(m.line, s.key, "a server needs a name")
	case strings.ContainsFunc(m.key, func(r rune) bool { return !unicode.IsPrint(r) }):
		s.noteMistake(m.line, s.key, "the name has a character that cannot be seen")
	}
	s.note(s.d.duplicate(m.value, s.key))
	s.checkKeys(m.value.members)
}

// undialable is the transport of a server with a mistake.
type undialable struct{ err error }

func (u *undialable) Dial(context.Context) (transport.Conn, error) { return nil, u.err }

// transport decides between the transports and reads the chosen one.
func (s *settings) transport() transport.Transport {
	typ := s.string("type")
	kind, known := types[typ]
	switch {
	case typ == "", !known && !s.isKnown(typ):
		_, local := s.node["command"]
		_, remote := s.node["url"]
		if local == remote {
			s.noteMistake(s.line, s.key, `want either "command", for a program to start, or "url", for a server to call`)
		}
		kind = "http"
		if local {
			kind = "stdio"
		}
	case !known && s.isKnown(typ):
		s.noteMistake(s.node["type"].line, s.keyPath("type"), "unknown type; want stdio, http, streamable-http or sse")
	}
	if kind == "stdio" {
		return s.command()
	}
	h := s.remote()
	h.SSE = kind == "sse"
	return h
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

func (s *settings) command() *mcpclient.Command {
	s.refuseKeys("a server that is started by command", "url", "headers", "oauth")
	c := &mcpclient.Command{Path: s.required("command"), Args: s.list("args"), Dir: s.string("cwd"), Env: s.environment()}
	if !s.d.preview && s.isUsable() && strings.ContainsAny(c.Path, " \t") && isMissing(c.Path, c.Dir) {
		s.noteMistake(s.node["command"].line, s.key+".command", `there is no such program; arguments belong in "args", each a string of its own`)
	}
	return c
}

// isUsable reports whether everything that was read is as the file means it.
func (s *settings) isUsable() bool { return s.err == nil && s.unsupported == nil }

// isKnown reports whether a text that was read may be checked: in a preview its variables have no
// values. A preview that refused what [Loader.Load] accepts would hide the server from the person.
func (s *settings) isKnown(text string) bool {
	return s.isUsable() && !(s.d.preview && strings.Contains(text, "${"))
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
