package config

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// maxTimeout bounds the timeout of a server.
const maxTimeout = 24 * time.Hour

// timeout returns the longest silence of a call, 0 if the file sets none. Programs disagree on the
// unit of a number: most use milliseconds, Cline uses seconds from 30 to 3,600.
func (s *settings) timeout() (d time.Duration) {
	m, ok := s.node["timeout"]
	if !ok || m.value.kind == kindNull {
		return 0
	}
	switch m.value.kind {
	case kindString:
		text := s.text(m.value, s.keyPath("timeout"))
		if !s.isKnown(text) {
			return 0
		}
		d, _ = time.ParseDuration(text) // 0 is refused
	case kindNumber:
		n, err := json.Number(m.value.text).Int64()
		switch {
		case err != nil || n < 0 || n > maxTimeout.Milliseconds():
		case n >= 1000 && n <= 3600:
			s.noteMistake(m.line, s.keyPath("timeout"), `milliseconds in some programs, seconds in others; write "%dms" or "%ds"`, n, n)
		case n < 1000:
			d = time.Duration(n) * time.Second
		default:
			d = time.Duration(n) * time.Millisecond
		}
	}
	if d <= 0 || d > maxTimeout {
		s.noteMistake(m.line, s.keyPath("timeout"), `want milliseconds, or text such as "90s", up to 24 hours`)
	}
	return d
}

// tools returns the tools to use and those to leave out. An empty list of tools to use is a
// mistake. If the program does not choose tools, a list that would change something is an
// unsupported need.
func (s *settings) tools() (allow, deny []string) {
	allow, deny = s.list("includeTools"), s.list("excludeTools")
	if m, ok := s.node["includeTools"]; ok && len(allow) == 0 {
		s.noteMistake(m.line, s.keyPath("includeTools"), `allows no tool; remove the key to use all, or set "disabled"`)
	}
	if !s.d.filters && (deny != nil || !allowsAll(allow)) {
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

// OAuth is what a file says about the sign-in to a server.
type OAuth struct {
	ClientID     string   // a client that is registered already; "": register one
	ClientSecret string   // "": a public client
	Scopes       []string // to request; nil: those that the server names
	CallbackPort int      // the port of the redirect URI on this machine; 0: any
}

// oauth reads the settings of a sign-in: an object with the keys of Claude Code, VS Code, Cursor or
// some of Gemini CLI. It returns nil without a sign-in: for false, null, and "enabled": false.
func (s *settings) oauth() *OAuth {
	m, ok := s.node["oauth"]
	if !ok {
		return nil
	}
	key := s.keyPath("oauth")
	if m.value.kind == kindBool { // true: with the server's own settings
		m.value = &node{kind: kindObject, line: m.value.line}
	}
	if !s.requireKind(m.value, key, kindObject) {
		return nil
	}
	o := new(OAuth)
	isEnabled := true
	for _, e := range m.value.members {
		at := key + "." + keyName(e.key)
		if e.key == "enabled" {
			isEnabled = !s.requireKind(e.value, at, kindBool) || e.value.text == "true"
			continue
		}
		s.oauthKey(o, at, e)
	}
	if !isEnabled {
		return nil
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		s.noteMistake(m.line, key, "has a client secret and no client id")
	}
	if !s.d.signIn && len(m.value.members) > 0 {
		s.noteUnsupported(m.line, key, "not supported: this program does not sign in by the file")
	}
	return o
}

// oauthKeys are the keys of an oauth object.
var oauthKeys = []string{"callbackPort", "clientId", "clientSecret", "scopes"}

func (s *settings) oauthKey(o *OAuth, key string, m member) {
	switch m.key {
	case "clientId", "client_id", "CLIENT_ID":
		o.ClientID = s.text(m.value, key)
	case "clientSecret", "client_secret", "CLIENT_SECRET":
		o.ClientSecret = s.text(m.value, key)
	case "scopes", "scope":
		o.Scopes = s.scopes(m.value, key)
	case "callbackPort":
		n, err := json.Number(m.value.text).Int64()
		if m.value.kind != kindNumber || err != nil || n < 1 || n > 65535 {
			s.noteMistake(m.line, key, "want a port from 1 to 65535")
		}
		o.CallbackPort = int(n)
	default:
		s.noteMistake(m.line, key, "unknown key;%s known keys: %s", didYouMean(m.key, oauthKeys), strings.Join(oauthKeys, ", "))
	}
}

// scopes reads a list of scopes, or one text with blanks between them.
func (s *settings) scopes(n *node, key string) []string {
	if n.kind == kindString {
		return strings.Fields(s.text(n, key))
	}
	if !s.requireKind(n, key, kindList) {
		return nil
	}
	return s.items(n, key)
}
