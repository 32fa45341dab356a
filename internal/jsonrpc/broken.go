package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// BrokenMembers calls visit with the top-level members of a message that is incomplete or not JSON,
// as far as they can be read. The value is nil unless it is a complete string, number or word.
func BrokenMembers(text []byte, visit func(key, value []byte)) {
	s := scanner{data: text}
	depth, atName := 0, false
	for s.pos < len(text) {
		switch c := text[s.pos]; c {
		case '{', '[':
			depth++
			atName = c == '{'
		case '}', ']':
			depth--
		case ',':
			atName = true
		case '"':
			start := s.pos
			if !s.skipString() {
				return
			}
			key := text[start+1 : s.pos-1]
			if s.space(); depth == 1 && atName && s.peek() == ':' {
				s.pos++
				visit(key, s.scalar())
			}
			atName = false
			continue
		}
		s.pos++
	}
}

// skipString moves past a string with any content.
func (s *scanner) skipString() bool {
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return true
		}
	}
	return false
}

// scalar moves past a string, a number or a word, and returns it if the text continues after it.
func (s *scanner) scalar() []byte {
	s.space()
	start := s.pos
	if s.peek() == '"' {
		if !s.skipString() {
			return nil
		}
		return s.data[start:s.pos]
	}
	end := bytes.IndexAny(s.data[start:], " \t\r\n,}]{[\"")
	if end <= 0 {
		return nil
	}
	s.pos += end
	return s.data[start:s.pos]
}

// blanks may stand anywhere between the parts of JSON text.
const blanks = " \t\r\n"

// Split finds the messages in text that is not one message: at most max, one behind the other, or
// among words. noisy reports whether there are words. rest is text that begins like a message but
// is not one, or the text from the first message after max. Text that is one JSON value is rest.
func Split(text []byte, max int) (messages []json.RawMessage, rest []byte, noisy bool) {
	s := scanner{data: text}
	for {
		words, ok := s.toMessage()
		noisy = noisy || words
		if !ok {
			break
		}
		start := s.pos
		if len(messages) == max || s.value() != nil || s.continues() {
			rest = text[start:]
			break
		}
		messages = append(messages, bytes.TrimRight(text[start:s.pos:s.pos], blanks))
	}
	if len(messages) == 1 && !noisy && rest == nil {
		return nil, text, false
	}
	return messages, rest, noisy
}

// TrailingResponse returns the part of a line that begins with a response, after other text; nil if
// there is no response.
func TrailingResponse(line []byte) []byte {
	s := scanner{data: line}
	if _, ok := s.toMessage(); !ok {
		return nil
	}
	start := s.pos
	if s.value() != nil {
		return nil
	}
	m, err := Parse(line[start:s.pos])
	if err != nil || !m.IsResponse() || !m.HasID() || s.continues() {
		return nil
	}
	return line[start:]
}

// toMessage moves past words to the beginning of an object, or of an array of objects. ok is false
// if there is none, or if the words may be a part of a larger value.
func (s *scanner) toMessage() (words, ok bool) {
	s.space()
	before, _, ok := bytes.Cut(s.data[s.pos:], []byte{'{'})
	if !ok || bytes.IndexByte(before, '"') >= 0 {
		return s.pos < len(s.data), false
	}
	start := len(bytes.TrimRight(before, "[ \t"))
	if i := bytes.IndexByte(before[start:], '['); i >= 0 {
		start += i
	} else {
		start = len(before)
	}
	s.pos += start
	return len(bytes.Trim(before[:start], blanks)) > 0, true
}

// continues reports whether the text behind a value continues as JSON.
func (s *scanner) continues() bool {
	s.space()
	switch s.peek() {
	case ',', ':', '}', ']', '"':
		return true
	}
	return false
}
