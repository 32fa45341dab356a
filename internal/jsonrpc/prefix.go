package jsonrpc

import "bytes"

// Find looks for a member of a message that is not whole or not JSON: one at
// the top level whose value is a string, a number or a word and stands complete
// in prefix. Where there are several it is the last.
func Find(prefix []byte, name string) (value []byte, ok bool) {
	s := scanner{data: prefix}
	depth, atName := 0, false
	for s.pos < len(prefix) {
		switch c := prefix[s.pos]; c {
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
				return value, ok
			}
			key := prefix[start+1 : s.pos-1]
			if s.space(); depth == 1 && atName && s.peek() == ':' && string(key) == name {
				s.pos++
				if v := s.scalar(); v != nil {
					value, ok = v, true
				}
			}
			atName = false
			continue
		}
		s.pos++
	}
	return value, ok
}

// skipString moves past a string, whatever is in it.
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

// scalar moves past a string, a number or a word, and returns it unless the
// text ends there.
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
