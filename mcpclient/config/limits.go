package config

import (
	"encoding/json"
	"slices"
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
