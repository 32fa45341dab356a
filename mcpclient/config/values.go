package config

import (
	"fmt"
	"regexp"
)

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// keyName returns a key as part of a path.
func keyName(key string) string {
	if plainKey.MatchString(key) {
		return key
	}
	return quoteKey(key)
}

// want returns the error for a value of the wrong kind, without showing it.
func (d *decoder) want(n *node, key string, k kind) error {
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
		return n.text == "false"
	case kindObject, kindList:
		return len(n.members)+len(n.items) == 0
	}
	return n.kind == kindNull
}

// refuse returns an error for the first key that this kind of server does not have.
func (s *settings) refuse(kind string, keys ...string) error {
	for _, k := range keys {
		if m, ok := s.node[k]; ok {
			return s.d.errorf(m.line, s.at(k), "does not go with %s", kind)
		}
	}
	return nil
}

// disabled decodes "disabled", or "enabled" inverted.
func (s *settings) disabled() (bool, error) {
	m, ok := s.node["disabled"]
	if !ok {
		return false, nil
	}
	if err := s.d.want(m.value, s.at("disabled"), kindBool); err != nil {
		return false, err
	}
	return m.value.text == "true" != (m.key == "enabled"), nil
}

// string decodes a string and expands its variables; a missing key is empty.
func (s *settings) string(key string) (string, error) {
	m, ok := s.node[key]
	if !ok {
		return "", nil
	}
	return s.text(m.value, s.at(key))
}

func (s *settings) required(key string) (string, error) {
	m, ok := s.node[key]
	if !ok {
		return "", s.d.errorf(s.line, s.key, "%q is missing", key)
	}
	text, err := s.text(m.value, s.at(key))
	if err != nil {
		return "", err
	}
	if text == "" && s.unsupported == nil {
		return "", s.d.errorf(m.line, s.at(key), "is empty")
	}
	return text, nil
}

func (s *settings) list(key string) ([]string, error) {
	m, ok := s.node[key]
	if !ok {
		return nil, nil
	}
	if err := s.d.want(m.value, s.at(key), kindList); err != nil {
		return nil, err
	}
	return s.items(m.value, s.at(key))
}

// items decodes a list of strings.
func (s *settings) items(list *node, key string) (out []string, err error) {
	for i, item := range list.items {
		text, err := s.text(item, fmt.Sprintf("%s[%d]", key, i))
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// pair is a member of an object of strings.
type pair struct {
	name, value string
	line        int
	key         string
}

// pairs decodes an object of strings. Numbers count as strings, as in VS Code.
func (s *settings) pairs(key string) ([]pair, error) {
	m, ok := s.node[key]
	if !ok {
		return nil, nil
	}
	if err := s.d.want(m.value, s.at(key), kindObject); err != nil {
		return nil, err
	}
	out := make([]pair, 0, len(m.value.members))
	for _, e := range m.value.members {
		p := pair{name: e.key, line: e.line, key: s.at(key) + "." + keyName(e.key), value: e.value.text}
		if e.value.kind != kindNumber {
			var err error
			if p.value, err = s.expanded(e.value, p.key, key == "headers"); err != nil {
				return nil, err
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// text decodes a string and expands its variables.
func (s *settings) text(n *node, key string) (string, error) { return s.expanded(n, key, false) }

// expanded is text. With filled, an empty variable is an error like an unset one.
func (s *settings) expanded(n *node, key string, filled bool) (string, error) {
	if err := s.d.want(n, key, kindString); err != nil {
		return "", err
	}
	text, err := s.d.expand(n.text, filled)
	switch err := err.(type) {
	case nil:
	case *inputError:
		s.lack(n.line, key, "%v", err)
	default:
		return "", s.d.errorf(n.line, key, "%v", err)
	}
	return text, nil
}
