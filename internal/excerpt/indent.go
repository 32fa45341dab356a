package excerpt

import (
	"bytes"
	"encoding/json"
)

// Bounds of the indentation that Indent adds to a text, in bytes.
const (
	smallIndentation = 4 << 10 // for every text
	indentationShare = 4       // times the length of the text
)

// Indent returns JSON indented for a person. ok is false for a text that is not JSON, or that would be
// mostly indentation.
func Indent(text string) (indented string, ok bool) {
	var b bytes.Buffer
	if indentation(text) > max(smallIndentation, indentationShare*len(text)) || json.Indent(&b, []byte(text), "", "  ") != nil {
		return "", false
	}
	return b.String(), true
}

// indentation returns how many bytes of indentation a JSON text would get.
func indentation(text string) int {
	total, depth, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			total += 2 * depth
		case c == ']' || c == '}':
			depth = max(0, depth-1)
			total += 2 * depth
		case c == ',':
			total += 2 * depth
		}
	}
	return total
}
