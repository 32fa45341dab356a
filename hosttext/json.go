package hosttext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSONLine writes JSON on one line, with the escapes of [EscapeJSON]. It quotes text that is not
// JSON.
func JSONLine(text string) string {
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(text)); err != nil {
		return Quote(text)
	}
	return EscapeJSON(line.String())
}

// EscapeJSON returns the same JSON value with an escape for each invisible character, and for each
// space except the normal one. It keeps line breaks and tabs between tokens.
func EscapeJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || isVisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
