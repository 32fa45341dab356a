package config

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// keyName returns a key as part of a path.
func keyName(key string) string {
	if plainKey.MatchString(key) {
		return key
	}
	return quoteKey(key)
}

func quoteKey(key string) string { return strconv.Quote(excerpt.CutAt(key, 100)) }

// checkKind returns an error for a value of the wrong kind, without showing it.
func (d *decoder) checkKind(n *node, key string, k kind) error {
	if n.kind == k {
		return nil
	}
	return d.errorf(n.line, key, "want %s, got %s", k, n.kind)
}

// duplicate returns an error for the first duplicate key of an object, in n or below it.
func (d *decoder) duplicate(n *node, key string) error {
	for _, m := range n.members {
		path := key + "." + keyName(m.key)
		if m.first != 0 {
			return d.errorf(m.line, path, "this key is on line %d already", m.first)
		}
		if err := d.duplicate(m.value, path); err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := d.duplicate(item, fmt.Sprintf("%s[%d]", key, i)); err != nil {
			return err
		}
	}
	return nil
}

// isOff reports whether this value switches a key off.
func (n *node) isOff() bool {
	switch n.kind {
	case kindBool:
		return n.isFalse()
	case kindObject, kindList:
		return len(n.members)+len(n.items) == 0
	}
	return n.kind == kindNull
}

func (n *node) isFalse() bool { return n.kind == kindBool && n.text == "false" }

// refuseKeys records a mistake for keys that this kind of server does not have.
func (s *settings) refuseKeys(kind string, keys ...string) {
	for _, k := range keys {
		if m, ok := s.node[k]; ok {
			s.noteMistake(m.line, s.keyPath(k), "does not go with %s", kind)
		}
	}
}

// disabled decodes "disabled", or "enabled" inverted.
func (s *settings) disabled() bool {
	m, ok := s.node["disabled"]
	if !ok || !s.requireKind(m.value, s.keyPath("disabled"), kindBool) {
		return false
	}
	return m.value.isFalse() == (m.key == "enabled")
}

// string decodes a string and expands its variables; a missing key is empty.
func (s *settings) string(key string) string {
	m, ok := s.node[key]
	if !ok {
		return ""
	}
	return s.text(m.value, s.keyPath(key))
}

// required is string for a key that must have a text.
func (s *settings) required(key string) string {
	m, ok := s.node[key]
	if !ok {
		s.noteMistake(s.line, s.key, "%q is missing", key)
		return ""
	}
	text := s.text(m.value, s.keyPath(key))
	if text == "" && s.unsupported == nil {
		s.noteMistake(m.line, s.keyPath(key), "is empty")
	}
	return text
}

func (s *settings) list(key string) []string {
	m, ok := s.node[key]
	if !ok || !s.requireKind(m.value, s.keyPath(key), kindList) {
		return nil
	}
	return s.items(m.value, s.keyPath(key))
}

func (s *settings) items(list *node, key string) (out []string) {
	for i, item := range list.items {
		out = append(out, s.text(item, fmt.Sprintf("%s[%d]", key, i)))
	}
	return out
}

// pair is a member of an object of strings.
type pair struct {
	name, value string
	line        int
	key         string
}

// bareVariable is a whole value in Gemini CLI's other form of a variable, also after a word such as Bearer.
// In arguments this form is left to the program, which may be a shell.
var bareVariable = regexp.MustCompile(`^([A-Za-z]+ )?\$([A-Z_][A-Z0-9_]*)$`)

// pairs decodes an object of strings. Numbers count as strings, as in VS Code.
func (s *settings) pairs(key string) (out []pair) {
	m, ok := s.node[key]
	if !ok || !s.requireKind(m.value, s.keyPath(key), kindObject) {
		return nil
	}
	for _, e := range m.value.members {
		value := *e.value
		p := pair{name: e.key, line: e.line, key: s.keyPath(key) + "." + keyName(e.key), value: value.text}
		if value.kind != kindNumber {
			if !s.d.preview {
				value.text = bareVariable.ReplaceAllString(value.text, "${1}$${${2}}")
			}
			p.value = s.expanded(&value, p.key, key == "headers")
		}
		out = append(out, p)
	}
	return out
}

// text decodes a string and expands its variables.
func (s *settings) text(n *node, key string) string { return s.expanded(n, key, false) }

// expanded is text. With filled, an empty variable is an error like an unset one.
func (s *settings) expanded(n *node, key string, filled bool) string {
	if s.err != nil || !s.requireKind(n, key, kindString) {
		return ""
	}
	text, err := s.d.expand(n.text, filled)
	switch err := err.(type) {
	case nil:
	case *inputError:
		s.noteUnsupported(n.line, key, "%v", err)
	default:
		s.noteMistake(n.line, key, "%v", err)
	}
	return text
}
