package wrap

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestWrap(t *testing.T) {
	for name, tt := range map[string]struct {
		text, want string
	}{
		"short":       {"one two", "one two"},
		"words":       {"the quick brown fox", "the quick\n  brown\n  fox"},
		"lines":       {"one\n\ntwo three four five\n", "one\n\ntwo three\n  four\n  five\n"},
		"indented":    {"  - one two three", "  - one\n  two\n  three"},
		"wide":        {"größe 漢字 漢字", "größe 漢字\n  漢字"},
		"long word":   {"a " + strings.Repeat("x", 25) + " b", "a\n  xxxxxxxx\n  xxxxxxxx\n  xxxxxxxx\n  x b"},
		"full line":   {"xxxxxxxxxx b", "xxxxxxxxxx\n  b"},
		"wide word":   {"漢字漢字漢字漢", "漢字漢字漢\n  字漢"},
		"longer word": {"  " + strings.Repeat("x", 205) + " b", strings.Repeat("  xxxxxxxx\n", 25) + "  xxxxx b"},
		"tabs":        {"\tif x\n\t\ty", "    if x\n     y"},
		"a column":    {"a\tb", "a   b"},
		"much space":  {strings.Repeat(" ", 50) + "x", "     x"},
	} {
		check.Equal(t, name, fold(tt.text, 11), tt.want)
		check.Equal(t, name, fold(tt.text, 0), tt.text)
	}
}
