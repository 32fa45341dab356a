package excerpt

import (
	"bytes"
	"encoding/json"
)

// maxNested is how deep the values of indented JSON may lie in each other.
const maxNested = 32

// Indent returns JSON indented for a person. ok is false for a text that is not JSON, or so deep that
// it would be mostly indentation.
func Indent(text string) (indented string, ok bool) {
	var b bytes.Buffer
	if isNested(text) || json.Indent(&b, []byte(text), "", "  ") != nil {
		return "", false
	}
	return b.String(), true
}

// isNested reports whether the values of a JSON text lie in each other deeper than maxNested.
func isNested(text string) bool {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest > maxNested
}
