package hosttext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON puts JSON on one line, with the escapes of [EscapeJSON]. Other text is
// quoted.
func JSON(text string) string {
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(text)); err != nil {
		return Quote(text)
	}
	return EscapeJSON(line.String())
}

// EscapeJSON returns the same JSON with an escape for each invisible character,
// and for each blank except the space. Line breaks and tabs between its tokens
// stay.
func EscapeJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || seen(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
