package screen

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestNoteLines(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"words":        {"the quick brown fox", "the quick\n  brown\n  fox"},
		"lines":        {"one\n\ntwo three four\n", "one\n\n  two\n  three\n  four\n"},
		"indented":     {"    - one two", "    - one\n    two"},
		"wide":         {"größe 漢字 漢字", "größe 漢字\n  漢字"},
		"long word":    {"a " + strings.Repeat("x", 18) + " b", "a\n  xxxxxxxx\n  xxxxxxxx\n  xx b"},
		"hyphens":      {"use the -a-b", "use the\n  -a-b"},
		"placeholders": {"\ue000", `\ue000`},
		"tabs":         {"\tx", "    x"},
		"joined":       {strings.Repeat("👩\u200d", 6) + "👩bot ›", "👩\u200d👩\u200d👩\u200d👩\u200d👩\u200d\n  👩\u200d👩bot\n  ›"},
		"skin tones":   {strings.Repeat("👍🏽", 4), "👍🏽👍🏽👍\n  🏽👍🏽"},
		"selectors":    {strings.Repeat("❤\ufe0f", 7), strings.Repeat("❤\ufe0f", 5) + "\n  ❤\ufe0f❤\ufe0f"},
		"much space":   {strings.Repeat(" ", 50) + "x", "     x"},
	} {
		check.Equal(t, name, strings.Join(NoteLines(tt.text, 11), "\n"), tt.want)
	}
	check.Equal(t, "any width", strings.Join(NoteLines("the quick brown fox\nbot ›", 0), "\n"), "the quick brown fox\n  bot ›")
}
