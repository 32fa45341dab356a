package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth bounds the nesting of arrays and objects in a message.
const MaxDepth = 1000

var errEnd = errors.New("the message ends in the middle")

// scanner walks over JSON text. It checks brackets, strings and literals, and
// leaves the grammar between them to whoever decodes the value.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	s.space()
	if s.pos == len(s.data) {
		return errEnd
	}
	if s.data[s.pos] != c {
		return fmt.Errorf("%q at byte %d, want %q", s.data[s.pos], s.pos, c)
	}
	s.pos++
	return nil
}

// object walks over an object; member is called at each value with the key and
// must move past the value.
func (s *scanner) object(member func(key []byte) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.space(); s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		s.space()
		if err := member(key); err != nil {
			return err
		}
		if s.space(); s.peek() == '}' {
			s.pos++
			return nil
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// array walks over an array; element is called at each value and must move past it.
func (s *scanner) array(element func() error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	if s.space(); s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		s.space()
		if err := element(); err != nil {
			return err
		}
		if s.space(); s.peek() == ']' {
			s.pos++
			return nil
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// key reads the name of a member, unescaped where it needs to be.
func (s *scanner) key() ([]byte, error) {
	s.space()
	start := s.pos
	if s.peek() != '"' {
		if s.pos == len(s.data) {
			return nil, errEnd
		}
		return nil, fmt.Errorf("%q at byte %d, want the name of a member", s.data[s.pos], s.pos)
	}
	if err := s.str(); err != nil {
		return nil, err
	}
	raw := s.data[start+1 : s.pos-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	var name string
	if err := json.Unmarshal(s.data[start:s.pos], &name); err != nil {
		return nil, fmt.Errorf("name of a member at byte %d: %v", start, err)
	}
	return []byte(name), nil
}

// str moves past a string.
func (s *scanner) str() error {
	s.pos++ // the opening quote
	for {
		i := bytes.IndexByte(s.data[s.pos:], '"')
		if i < 0 {
			s.pos = len(s.data)
			return errEnd
		}
		end := s.pos + i
		escapes := 0
		for end-escapes > s.pos && s.data[end-escapes-1] == '\\' {
			escapes++
		}
		s.pos = end + 1
		if escapes%2 == 0 {
			return nil
		}
	}
}

// value moves past any value.
func (s *scanner) value() error {
	var open nesting
	for {
		s.space()
		if s.pos == len(s.data) {
			return errEnd
		}
		switch c := s.data[s.pos]; c {
		case '"':
			if err := s.str(); err != nil {
				return err
			}
		case '{', '[':
			if open.depth == MaxDepth {
				return fmt.Errorf("nested deeper than %d at byte %d", MaxDepth, s.pos)
			}
			open.push(c == '{')
			s.pos++
			continue
		case '}', ']':
			if open.depth == 0 || open.pop() != (c == '}') {
				return fmt.Errorf("%q at byte %d closes nothing", c, s.pos)
			}
			s.pos++
		case ',', ':':
			if open.depth == 0 {
				return fmt.Errorf("%q at byte %d, want a value", c, s.pos)
			}
			s.pos++
			continue
		default:
			if err := s.literal(); err != nil {
				return err
			}
		}
		if open.depth == 0 {
			return nil
		}
	}
}

// literal moves past a number, true, false or null.
func (s *scanner) literal() error {
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			s.pos++
			continue
		}
		break
	}
	if s.pos == start {
		return fmt.Errorf("%q at byte %d, want a value", s.data[s.pos], s.pos)
	}
	if c := s.data[start]; c >= 'a' && c <= 'z' {
		switch string(s.data[start:s.pos]) {
		case "true", "false", "null":
		default:
			return fmt.Errorf("unknown word at byte %d", start)
		}
	}
	return nil
}

// nesting is a stack of open brackets, one bit each.
type nesting struct {
	depth int
	bits  [(MaxDepth + 63) / 64]uint64
}

func (n *nesting) push(object bool) {
	word, bit := n.depth/64, uint64(1)<<(n.depth%64)
	n.bits[word] &^= bit
	if object {
		n.bits[word] |= bit
	}
	n.depth++
}

func (n *nesting) pop() (object bool) {
	n.depth--
	return n.bits[n.depth/64]&(1<<(n.depth%64)) != 0
}
