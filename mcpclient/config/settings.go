package config

import (
	"cmp"
	"context"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// settings is one server's entry, with every key checked and read. After the first mistake it reads nothing more.
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

// isUsable reports whether everything that was read is as the file means it.
func (s *settings) isUsable() bool { return s.err == nil && s.unsupported == nil }

// isKnown reports whether a text that was read may be checked: in a preview its variables have no
// values. A preview that refused what [Loader.Load] accepts would hide the server from the person.
func (s *settings) isKnown(text string) bool {
	return s.isUsable() && !(s.d.preview && (strings.Contains(text, "${") || bareVariable.MatchString(text)))
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
	server.OAuth = s.oauth(server.Transport)
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
	s.checkKeys(&serverKeys, m.value.members)
	if o, ok := s.node["oauth"]; ok && (o.value.kind == kindNull || o.value.isFalse()) {
		delete(s.node, "oauth") // no sign-in, for any kind of server
	}
}

// undialable is the transport of a server with a mistake.
type undialable struct{ err error }

func (u *undialable) Dial(context.Context) (transport.Conn, error) { return nil, u.err }
