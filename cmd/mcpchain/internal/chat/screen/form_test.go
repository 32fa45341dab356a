package screen

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// What is wrong with an answer is told without the name of the field, however long that is.
func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		field mcp.Field
		want  string
	}{
		{mcp.Field{Name: "age", Kind: mcp.FieldInteger}, "want a whole number"},
		{mcp.Field{Name: strings.Repeat("age", 1000), Kind: mcp.FieldInteger}, "want a whole number"},
		{mcp.Field{Name: "code", Kind: mcp.FieldString, Pattern: "^[0-9]+$"}, `want text, matching "^[0-9]+$"`},
		{mcp.Field{Name: "code", Kind: mcp.FieldString, Pattern: "^[0-9]+$", Description: "digits\x1b[2J"}, `want digits\x1b[2J`},
	} {
		_, err := tt.field.Parse("x")
		if got := Wrong(&tt.field, err); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
