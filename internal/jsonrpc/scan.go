package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// MaxDepth bounds the nesting of arrays and objects in a message.
const MaxDepth = 1000

var (
	errEnd   = errors.New("message ends in the middle")
	errDepth = fmt.Errorf("nested deeper than %d", MaxDepth) // the text may still be valid JSON
)

// scanner walks over JSON text. It accepts the same text as encoding/json, up
// to [MaxDepth], so scanned text needs no other check.
type scanner struct {
	data []byte
	pos  int
}

// space moves past white space. Most messages have none.
func (s *scanner) space() {
	if s.pos < len(s.data) && s.data[s.pos] <= ' ' {
		s.skipBlanks()
	}
}

func (s *scanner) skipBlanks() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	s.space()
	if s.peek() == c {
		s.pos++
		return nil
	}
	return s.unexpectedError(fmt.Sprintf("want %q", c))
}

// unexpectedError returns an error for the next character. want names the expected ones.
func (s *scanner) unexpectedError(want string) error {
	if s.pos >= len(s.data) {
		return errEnd
	}
	return fmt.Errorf("%q at byte %d, %s", s.data[s.pos], s.pos, want)
}

// object walks over an object. It calls member with each key, at its value, which member must move past.
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

// array walks over an array. It calls element at each value, which element must move past.
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

// key reads the name of a member, unescaped, and moves to the value.
func (s *scanner) key() ([]byte, error) {
	s.space()
	start := s.pos
	escaped, err := s.name()
	if err != nil {
		return nil, err
	}
	key := s.data[start+1 : s.pos-1]
	if escaped {
		var name string
		if err := json.Unmarshal(s.data[start:s.pos], &name); err != nil {
			return nil, fmt.Errorf("name of a member at byte %d: %v", start, err)
		}
		key = []byte(name)
	}
	if err := s.expect(':'); err != nil {
		return nil, err
	}
	s.space()
	return key, nil
}

func (s *scanner) name() (escaped bool, err error) {
	if s.peek() != '"' {
		return false, s.unexpectedError("want the name of a member")
	}
	return s.str()
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special sets the high bit of those of eight bytes that are a quote, a backslash or a control character. The lowest bit
// that is set is always right; bits above it may be set for other bytes.
func special(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// str moves past a string. escaped is true if it has escapes.
func (s *scanner) str() (escaped bool, err error) {
	data, pos := s.data, s.pos+1 // after the opening quote
	for {
		for pos+8 <= len(data) {
			if m := special(binary.LittleEndian.Uint64(data[pos:])); m != 0 {
				pos += bits.TrailingZeros64(m) / 8
				break
			}
			pos += 8
		}
		for pos < len(data) && data[pos] >= 0x20 && data[pos] != '"' && data[pos] != '\\' {
			pos++
		}
		if pos >= len(data) {
			s.pos = len(data)
			return escaped, errEnd
		}
		switch data[pos] {
		case '"':
			s.pos = pos + 1
			return escaped, nil
		case '\\':
			escaped = true
			if pos+1 < len(data) && simpleEscape[data[pos+1]] {
				pos += 2
				continue
			}
			s.pos = pos + 1
			if err := s.unicodeEscape(); err != nil {
				return escaped, err
			}
			pos = s.pos
		default:
			s.pos = pos
			return escaped, s.unexpectedError("which must be escaped in a string")
		}
	}
}

var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

func (s *scanner) unicodeEscape() error {
	if s.peek() != 'u' {
		return s.unexpectedError("which is not allowed in an escape of a string")
	}
	for range 4 {
		s.pos++
		if !isHex(s.peek()) {
			return s.unexpectedError("want a hexadecimal digit")
		}
	}
	s.pos++
	return nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// value moves past any value.
func (s *scanner) value() error {
	s.space()
	switch s.peek() {
	case '"':
		_, err := s.str()
		return err
	case '{', '[':
		return s.compound()
	}
	return s.literal()
}

// compound moves past an object or array, without recursion.
func (s *scanner) compound() error {
	var open nesting
	for { // at a value
		switch c := s.peek(); c {
		case '"':
			if _, err := s.str(); err != nil {
				return err
			}
		case '{', '[':
			if open.depth == MaxDepth {
				return fmt.Errorf("%w at byte %d", errDepth, s.pos)
			}
			open.push(c == '{')
			s.pos++
			s.space()
			switch {
			case s.peek() == c+2: // empty: in ASCII, } is {+2 and ] is [+2
			case c == '[':
				continue
			default:
				if err := s.toMember(); err != nil {
					return err
				}
				continue
			}
		default:
			if err := s.literal(); err != nil {
				return err
			}
		}
		if done, err := s.toNextValue(&open); done || err != nil {
			return err
		}
	}
}

// toNextValue moves from the end of a value to the next value, or past the end of all open brackets.
func (s *scanner) toNextValue(open *nesting) (done bool, err error) {
	for {
		s.space()
		switch c := s.peek(); {
		case c == ',' && open.object():
			s.pos++
			s.space()
			return false, s.toMember()
		case c == ',':
			s.pos++
			s.space()
			return false, nil
		case (c == '}' || c == ']') && open.object() == (c == '}'):
			s.pos++
			if open.depth--; open.depth == 0 {
				return true, nil
			}
		case open.object():
			return false, s.unexpectedError(`want "," or "}"`)
		default:
			return false, s.unexpectedError(`want "," or "]"`)
		}
	}
}

// toMember moves past the name of a member to its value.
func (s *scanner) toMember() error {
	if _, err := s.name(); err != nil {
		return err
	}
	if err := s.expect(':'); err != nil {
		return err
	}
	s.space()
	return nil
}

// literal moves past a number, true, false or null.
func (s *scanner) literal() error {
	switch c := s.peek(); {
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c >= 'a' && c <= 'z':
		for _, word := range [...]string{"true", "false", "null"} {
			if bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
				s.pos += len(word)
				return nil
			}
		}
		return fmt.Errorf("unknown word at byte %d", s.pos)
	}
	return s.unexpectedError("want a value")
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.unexpectedError("want a digit")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.unexpectedError("want a digit")
		}
	}
	if s.peek()|0x20 == 'e' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.unexpectedError("want a digit")
		}
	}
	return nil
}

func (s *scanner) digits() (some bool) {
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos, some = s.pos+1, true
	}
	return some
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

// object reports whether the innermost bracket belongs to an object.
func (n *nesting) object() bool {
	i := n.depth - 1
	return n.bits[i/64]&(1<<(i%64)) != 0
}
