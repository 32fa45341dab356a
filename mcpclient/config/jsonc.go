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

// node is a JSON value with its line. encoding/json has no lines and drops duplicate keys, so this package parses
// documents itself. It keeps duplicate members; the decoder refuses them if the key has a meaning.
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
	pos   int // the end of data after an error
	line  int
	depth int
	err   error // the first, a *syntaxError
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
	root := p.value()
	if p.next(); p.pos < len(p.data) {
		p.fail("text after the end of the document")
	}
	return root, p.err
}

// fail ends the parsing with an error, unless there is one.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &syntaxError{p.line, fmt.Sprintf(format, args...)}
		p.pos = len(p.data)
	}
}

// next skips white space and comments, and returns the next byte, 0 at the end.
func (p *parser) next() byte {
	for p.pos < len(p.data) {
		rest := p.data[p.pos:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.pos++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			p.pos++
		case bytes.HasPrefix(rest, []byte("//")):
			comment, _, _ := bytes.Cut(rest, []byte("\n"))
			p.pos += len(comment)
		case bytes.HasPrefix(rest, []byte("/*")):
			comment, _, closed := bytes.Cut(rest[2:], []byte("*/"))
			if !closed {
				p.fail("the comment that starts with /* here has no end")
				return 0
			}
			p.line += bytes.Count(comment, []byte("\n"))
			p.pos += len(comment) + 4
		default:
			return rest[0]
		}
	}
	return 0
}

// value parses the next value of any kind.
func (p *parser) value() *node {
	c := p.next()
	n := &node{line: p.line}
	switch {
	case p.pos == len(p.data):
		p.fail("the file ends where a value should be")
	case c == '"':
		n.kind, n.text = kindString, p.str()
	case c != '{' && c != '[':
		p.word(n)
	case p.depth == maxDepth:
		p.fail("more than %d levels of lists and objects", maxDepth)
	default:
		p.depth++
		if c == '{' {
			p.object(n)
		} else {
			p.list(n)
		}
		p.depth--
	}
	return n
}

// object parses an object whose { is the next byte, and keeps the lines of its keys.
func (p *parser) object(n *node) {
	n.kind = kindObject
	seen := map[string]int{}
	for p.pos++; p.next() != '}'; p.separator('}', n) {
		if c := p.next(); c != '"' {
			p.unexpected(c, "a key in double quotes or }", n)
			return
		}
		m := member{line: p.line, key: p.str()}
		m.first = seen[m.key]
		if m.first == 0 {
			seen[m.key] = m.line
		}
		if c := p.next(); c != ':' {
			p.unexpected(c, "a colon after the key "+quoteKey(m.key), n)
			return
		}
		p.pos++
		m.value = p.value()
		n.members = append(n.members, m)
	}
	p.pos++
}

// list parses a list whose [ is the next byte.
func (p *parser) list(n *node) {
	n.kind = kindList
	for p.pos++; p.next() != ']'; p.separator(']', n) {
		if n.items = append(n.items, p.value()); p.err != nil {
			return
		}
	}
	p.pos++
}

// separator consumes the comma after a member of n, and does not consume n's end.
func (p *parser) separator(end byte, n *node) {
	switch c := p.next(); c {
	case ',':
		p.pos++
	case end:
	default:
		p.unexpected(c, "a comma or "+string(end), n)
	}
}

// unexpected fails for c where want was expected. The error shows only punctuation, because other text
// may be part of a secret.
func (p *parser) unexpected(c byte, want string, inside *node) {
	switch {
	case p.pos == len(p.data):
		p.fail("the file ends, want %s for what begins on line %d", want, inside.line)
	case bytes.IndexByte([]byte("{}[]:,'"), c) >= 0:
		p.fail("%q, want %s", string(c), want)
	default:
		p.fail("want %s", want)
	}
}

// str parses a string at pos. Its errors quote nothing of the string.
func (p *parser) str() (s string) {
	rest := p.data[p.pos:]
	end := 1
	for end < len(rest) && rest[end] != '"' && rest[end] != '\n' {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	switch {
	case end >= len(rest) || rest[end] != '"':
		p.fail("a string has no closing quote on its line")
	case !utf8.Valid(rest[:end+1]):
		p.fail("a string is not UTF-8")
	case json.Unmarshal(rest[:end+1], &s) != nil:
		p.fail(`a string has a control character or a bad escape; write \\ for a backslash`)
	default:
		p.pos += end + 1
	}
	return s
}

// word parses a number, true, false or null.
func (p *parser) word(n *node) {
	end := p.pos
	for end < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:{}[]\"/"), p.data[end]) < 0 {
		end++
	}
	n.text = string(p.data[p.pos:end])
	switch {
	case end == p.pos:
		p.fail("%q where a value should be", string(p.data[p.pos]))
	case n.text == "null":
		n.kind = kindNull
	case n.text == "true" || n.text == "false":
		n.kind = kindBool
	case json.Valid([]byte(n.text)):
		n.kind = kindNumber
	default:
		p.fail("not a JSON value; strings need double quotes")
	}
	p.pos = max(p.pos, end)
}
