package excerpt

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestIndent(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1]}`: "{\n  \"a\": [\n    1\n  ]\n}",
		`"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["`:                                             `"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100):                                    "", // 20 KB of indentation
		strings.Repeat("[", 20) + strings.Repeat("1,", 10_000) + "1" + strings.Repeat("]", 20): "", // 400 KB
		`{"a":`: "",
	} {
		got, ok := Indent(text)
		check.Equal(t, text, got, want)
		check.Equal(t, text, ok, want != "")
	}
	if _, ok := Indent(strings.Repeat("[", 32) + strings.Repeat("]", 32)); !ok {
		t.Error("32 arrays in each other were not indented")
	}
}
