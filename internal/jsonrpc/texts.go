package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// MapTexts applies f to the names, strings and numbers of a JSON value, however they are escaped.
// What f does not change keeps its bytes.
func MapTexts(raw json.RawMessage, f func(string) string) json.RawMessage {
	var out []byte // nil while nothing has changed
	kept := 0      // raw[:kept] is in out
	for i := 0; i < len(raw); {
		end := i + scalarLength(raw[i:])
		var value any
		if json.Unmarshal(raw[i:end], &value) == nil {
			text, ok := value.(string)
			if !ok {
				text = string(raw[i:end])
			}
			if changed := f(text); changed != text {
				out = AppendString(append(out, raw[kept:i]...), changed)
				kept = end
			}
		}
		i = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[kept:]...)
}

// scalarLength returns the length of the string, number or literal at the start of valid JSON, 1 for
// anything else.
func scalarLength(raw []byte) int {
	if raw[0] != '"' {
		if n := bytes.IndexAny(raw, "{}[]:,\" \t\r\n"); n >= 0 {
			return max(n, 1)
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
