package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// BrokenMembers calls visit with the top-level members of an object that is incomplete or not JSON,
// as far as they can be read. The value is nil unless it is a complete string, number or word.
func BrokenMembers(text []byte, visit func(key, value []byte)) {
	s := scanner{data: text}
	if s.space(); s.peek() != '{' {
		return
	}
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

// scalar moves past a string, a number or a word, and returns it, nil unless it is complete. A number or a word at the end of
// the text may be the beginning of a longer one.
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

const blanks = " \t\r\n"

// Split returns the messages of text that consists of several, one after the other, at most max, and nil for other text. It
// does not look at what follows a closing bracket that is one too many.
func Split(text []byte, max int) (messages []json.RawMessage) {
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var m json.RawMessage
		if len(messages) == max || d.Decode(&m) != nil || m[0] != '{' && m[0] != '[' {
			return nil
		}
		messages = append(messages, m)
	}
	if len(messages) < 2 {
		return nil
	}
	return messages
}

// CutResponse finds a response among other text, such as a log, and returns it with the text before
// it; nil if there is none. It finds no response that may be a part of a larger value.
func CutResponse(text []byte) (before, response []byte) {
	before, _, _ = bytes.Cut(text, []byte{'{'})
	if bytes.IndexByte(before, '"') >= 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text[len(before):]))
	if d.Decode((*json.RawMessage)(&response)) != nil {
		return nil, nil
	}
	m, err := Parse(response)
	after := bytes.TrimLeft(text[len(before)+int(d.InputOffset()):], blanks)
	isPart := len(after) > 0 && bytes.IndexByte([]byte(",:{}]\""), after[0]) >= 0
	if err != nil || !m.IsResponse() || !m.HasID() || isPart {
		return nil, nil
	}
	return before, response
}
