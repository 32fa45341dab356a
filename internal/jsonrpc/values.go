package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Members calls visit with each member of an object, its value undecoded.
func Members(object []byte, visit func(key, value []byte)) error {
	d := NewDecoder(object, 0)
	for key := range d.Members {
		if value := d.Raw(); value != nil {
			visit(key, value)
		}
	}
	return d.Err()
}

// Object decodes an object of at most max members into a map. Of equal names the last counts. The values are copies.
func Object(raw []byte, max int) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	d := NewDecoder(raw, max)
	n := 0
	for key := range d.Members {
		if n++; n > max {
			d.Fail(fmt.Errorf("more than %d members", max))
			break
		}
		all[string(key)] = bytes.Clone(d.Raw())
	}
	if d.Err() != nil {
		return nil, d.Err()
	}
	return all, nil
}

// Lookup returns the value at a path of names in an object, nil if there is none.
func Lookup(object []byte, path ...string) (value []byte) {
	value = object
	for _, name := range path {
		d := NewDecoder(value, 0)
		value = nil
		for key := range d.Members {
			if string(key) == name {
				value = d.Raw()
			}
		}
		if d.Err() != nil {
			return nil
		}
	}
	return value
}

// CountElements counts the elements of all arrays in raw, valid JSON.
func CountElements(raw []byte) (n int) {
	s := scanner{data: raw}
	var open nesting
	for s.pos < len(raw) && open.depth < MaxDepth {
		switch c := raw[s.pos]; c {
		case '"':
			if _, err := s.str(); err != nil {
				return n
			}
			continue
		case '{', '[':
			open.push(c == '{')
			s.pos++
			if s.space(); c == '[' && s.peek() != ']' {
				n++
			}
			continue
		case '}', ']':
			open.depth = max(0, open.depth-1)
		case ',':
			if open.depth > 0 && !open.object() {
				n++
			}
		}
		s.pos++
	}
	return n
}

// String decodes a string, which is valid JSON, like encoding/json: invalid UTF-8 becomes U+FFFD. ok is false for another value.
func String(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	inner := raw[1 : len(raw)-1]
	if utf8.Valid(inner) {
		return unescape(inner)
	}
	var decoded string // s itself would be allocated by every call
	err := json.Unmarshal(raw, &decoded)
	return decoded, err == nil
}

// unescape replaces the escapes in the text between quotes.
func unescape(text []byte) (s string, ok bool) {
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			b.Write(text)
			return b.String(), true
		}
		b.Write(text[:i])
		text = text[i:]
		if len(text) < 2 {
			return "", false
		}
		if plain := strings.IndexByte(`"\/bfnrt`, text[1]); plain >= 0 {
			b.WriteByte("\"\\/\b\f\n\r\t"[plain])
			text = text[2:]
			continue
		}
		r, ok := codeUnit(text)
		if !ok {
			return "", false
		}
		text = text[6:]
		if utf16.IsSurrogate(r) {
			low, _ := codeUnit(text)
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				text = text[6:]
			}
		}
		b.WriteRune(r)
	}
}

// codeUnit reads the UTF-16 code unit of the escape at the start of text.
func codeUnit(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// MapTexts applies f to the names, strings, numbers and literals of a JSON value, however they are
// escaped. What f does not change keeps its bytes, and what it changes becomes a string.
func MapTexts(raw json.RawMessage, f func(string) string) json.RawMessage {
	const punctuation = "{}[]:, \t\r\n"
	var out []byte // nil while nothing has changed
	kept := 0      // raw[:kept] is in out
	for i := 0; i < len(raw); {
		if strings.IndexByte(punctuation, raw[i]) >= 0 {
			i++
			continue
		}
		end := len(raw)
		if s := (scanner{data: raw, pos: i}); raw[i] != '"' {
			if n := bytes.IndexAny(raw[i:], punctuation); n >= 0 {
				end = i + n
			}
		} else if s.skipString() {
			end = s.pos
		}
		text, ok := String(raw[i:end])
		if !ok {
			text = string(raw[i:end])
		}
		if changed := f(text); changed != text {
			out = AppendString(append(out, raw[kept:i]...), changed)
			kept = end
		}
		i = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[kept:]...)
}
