package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// WriteJSON writes a value as JSON with a line break, on one line if indent is "". Control and invisible characters are
// escaped, and those of HTML are not.
func WriteJSON(w io.Writer, v any, indent string) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, hosttext.EscapeJSON(b.String()))
	return err
}
