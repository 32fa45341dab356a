package screen

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// A problem is described without the name of the field, which may be long.
func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		field forms.Field
		want  string
	}{
		{forms.Field{Name: "age", Kind: forms.KindInteger}, "want a whole number"},
		{forms.Field{Name: strings.Repeat("age", 1000), Kind: forms.KindInteger}, "want a whole number"},
		{forms.Field{Name: "code", Kind: forms.KindString, Pattern: "^[0-9]+$"}, `want text, matching "^[0-9]+$"`},
		{forms.Field{Name: "code", Kind: forms.KindString, Pattern: "^[0-9]+$", Description: "digits\x1b[2J"}, `want digits\x1b[2J`},
	} {
		_, err := tt.field.Parse("x")
		if got := FieldProblem(&tt.field, err); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
