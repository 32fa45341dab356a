package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MapTexts applies f to the names, strings, numbers and literals of a JSON value, however they are
// escaped. What f does not change keeps its bytes, and what it changes becomes a string.
func MapTexts(raw json.RawMessage, f func(string) string) json.RawMessage {
	var out []byte // nil while nothing has changed
	kept := 0      // raw[:kept] is in out
	for i := 0; i < len(raw); {
		if strings.IndexByte(punctuation, raw[i]) >= 0 {
			i++
			continue
		}
		end := i + scalarLength(raw[i:])
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

const punctuation = "{}[]:, \t\r\n"

// scalarLength returns the length of the string, number or literal at the start of valid JSON.
func scalarLength(raw []byte) int {
	if raw[0] != '"' {
		if n := bytes.IndexAny(raw, punctuation); n >= 0 {
			return n
		}
		return len(raw)
	}
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
