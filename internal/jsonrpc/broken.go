package jsonrpc

import "bytes"

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
