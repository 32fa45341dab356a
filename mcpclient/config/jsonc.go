package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds the nesting of lists and objects.
const maxDepth = 64

// kind is the type of a JSON value, for errors.
type kind string

const (
	kindObject kind = "an object"
	kindList   kind = "a list"
	kindString kind = "a string"
	kindNumber kind = "a number"
	kindBool   kind = "true or false"
	kindNull   kind = "null"
)

// node is a JSON value with its line. encoding/json has no lines and drops duplicate keys, so
// this package parses documents itself. It keeps duplicate members; the decoder refuses them if
// the key has a meaning.
type node struct {
	kind    kind
	line    int
	text    string // a string is decoded; a number or bool is unchanged
	members []member
	items   []*node
}

type member struct {
	key   string
	line  int
	first int // line of the same key earlier in the object, or 0
	value *node
}

type syntaxError struct {
	line   int
	reason string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

type parser struct {
	data  []byte
	pos   int
	line  int
	depth int
}

// parseDocument parses JSON with comments and trailing commas. Its error is a *syntaxError.
func parseDocument(data []byte) (*node, error) {
	if len(data) > maxFile {
		return nil, &syntaxError{1, fmt.Sprintf("larger than %d bytes", maxFile)}
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, &syntaxError{1, "the file is in UTF-16; save it as UTF-8"}
	}
	p := &parser{data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), line: 1}
	root, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos < len(p.data) {
		return nil, p.errorf("text after the end of the document")
	}
	return root, nil
}

func (p *parser) errorf(format string, args ...any) *syntaxError {
	return &syntaxError{p.line, fmt.Sprintf(format, args...)}
}

// space skips white space and comments.
func (p *parser) space() error {
	for p.pos < len(p.data) {
		rest := p.data[p.pos:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.pos++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			p.pos++
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.pos += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return p.errorf("the comment that starts with /* here has no end")
			}
			p.line += bytes.Count(rest[:end+2], []byte("\n"))
			p.pos += end + 4
		default:
			return nil
		}
	}
	return nil
}

// next skips space and returns the next byte, 0 at the end.
func (p *parser) next() (byte, error) {
	if err := p.space(); err != nil || p.pos == len(p.data) {
		return 0, err
	}
	return p.data[p.pos], nil
}

// value parses the next value of any kind.
func (p *parser) value() (*node, error) {
	c, err := p.next()
	if err != nil {
		return nil, err
	}
	switch {
	case c == 0 && p.pos == len(p.data):
		return nil, p.errorf("the file ends where a value should be")
	case c == '{' || c == '[':
		if p.depth == maxDepth {
			return nil, p.errorf("more than %d levels of lists and objects", maxDepth)
		}
		p.depth++
		defer func() { p.depth-- }()
		if c == '{' {
			return p.object()
		}
		return p.list()
	case c == '"':
		line := p.line
		text, err := p.str()
		return &node{kind: kindString, line: line, text: text}, err
	}
	return p.word()
}

// object parses an object whose { is the next byte, and keeps the lines of its keys.
func (p *parser) object() (*node, error) {
	n := &node{kind: kindObject, line: p.line}
	seen := map[string]int{}
	p.pos++
	for {
		c, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case c == '}':
			p.pos++
			return n, nil
		case c != '"':
			return nil, p.unexpected(c, "a key in double quotes or }", n)
		}
		m := member{line: p.line}
		if m.key, err = p.str(); err != nil {
			return nil, err
		}
		m.first = seen[m.key]
		if m.first == 0 {
			seen[m.key] = m.line
		}
		if c, err = p.next(); err != nil {
			return nil, err
		}
		if c != ':' {
			return nil, p.unexpected(c, "a colon after the key "+quoteKey(m.key), n)
		}
		p.pos++
		if m.value, err = p.value(); err != nil {
			return nil, err
		}
		n.members = append(n.members, m)
		if err := p.separator('}', n); err != nil {
			return nil, err
		}
	}
}

// list parses a list whose [ is the next byte.
func (p *parser) list() (*node, error) {
	n := &node{kind: kindList, line: p.line}
	p.pos++
	for {
		c, err := p.next()
		if err != nil {
			return nil, err
		}
		if c == ']' {
			p.pos++
			return n, nil
		}
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
		if err := p.separator(']', n); err != nil {
			return nil, err
		}
	}
}

// separator consumes the comma after a member of n, and does not consume n's end.
func (p *parser) separator(end byte, n *node) error {
	c, err := p.next()
	switch {
	case err != nil:
		return err
	case c == ',':
		p.pos++
		return nil
	case c == end:
		return nil
	}
	return p.unexpected(c, "a comma or "+string(end), n)
}

// unexpected returns the error for c where want was expected. It shows only punctuation,
// because other text may be part of a secret.
func (p *parser) unexpected(c byte, want string, inside *node) *syntaxError {
	switch {
	case p.pos == len(p.data):
		return p.errorf("the file ends, want %s for what begins on line %d", want, inside.line)
	case bytes.IndexByte([]byte("{}[]:,'"), c) >= 0:
		return p.errorf("%q, want %s", string(c), want)
	}
	return p.errorf("want %s", want)
}

// str parses a string at pos. Its errors quote nothing of the string.
func (p *parser) str() (string, error) {
	rest := p.data[p.pos:]
	end := 1
	for end < len(rest) && rest[end] != '"' && rest[end] != '\n' {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(rest) || rest[end] != '"' {
		return "", p.errorf("a string has no closing quote on its line")
	}
	raw := rest[:end+1]
	if !utf8.Valid(raw) {
		return "", p.errorf("a string is not UTF-8")
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", p.errorf(`a string has a control character or a bad escape; write \\ for a backslash`)
	}
	p.pos += end + 1
	return s, nil
}

// word parses a number, true, false or null.
func (p *parser) word() (*node, error) {
	end := p.pos
	for end < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:{}[]\"/"), p.data[end]) < 0 {
		end++
	}
	n := &node{line: p.line, text: string(p.data[p.pos:end])}
	switch {
	case end == p.pos:
		return nil, p.errorf("%q where a value should be", string(p.data[p.pos]))
	case n.text == "null":
		n.kind = kindNull
	case n.text == "true" || n.text == "false":
		n.kind = kindBool
	case json.Valid([]byte(n.text)):
		n.kind = kindNumber
	default:
		return nil, p.errorf("not a JSON value; strings need double quotes")
	}
	p.pos = end
	return n, nil
}
