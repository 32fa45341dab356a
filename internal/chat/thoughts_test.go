package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A thought in tags at the beginning of the text is reasoning, however it comes; tags elsewhere are text.
func TestThoughtsInTags(t *testing.T) {
	for _, tt := range []struct{ url, content, finish, reasoning, text string }{
		{local, "<think>Hm <b>.</think>\n\n Hello <think>", "stop", "Hm <b>.", "Hello <think>"},
		{local, "<think></think>Hello", "stop", "", "Hello"},
		{local, "Hello <think>Hm.</think>", "stop", "", "Hello <think>Hm.</think>"},
		{local, "<thin", "stop", "", "<thin"},
		{local, "<think>Hm.</th", "length", "Hm.</th", ""},
		{local, "<think> is a tag.", "stop", "", "<think> is a tag."},
		{openAI, "<think>Hm.</think>Hello", "stop", "", "<think>Hm.</think>Hello"},
	} {
		quoted := func(text string) string { return fmt.Sprintf(`{"content":%q}`, text) }
		forms := map[string][]string{"whole": {`{"choices":[{"message":` + quoted(tt.content) + `,"finish_reason":"` + tt.finish + `"}]}`}}
		for _, size := range []int{1, 3, 9} {
			form := fmt.Sprint("pieces of ", size)
			for rest := tt.content; rest != ""; rest = rest[min(size, len(rest)):] {
				forms[form] = append(forms[form], chunk(quoted(rest[:min(size, len(rest))]), ""))
			}
			forms[form] = append(forms[form], chunk("{}", tt.finish))
		}
		for form, lines := range forms {
			var text, reasoning strings.Builder
			add := func(b *strings.Builder) func(string) error {
				return func(piece string) error { b.WriteString(piece); return nil }
			}
			got := check.Value(newHost(t, streaming(lines...)).client(t, tt.url, nil).Stream(t.Context(), hello(), Deltas{Text: add(&text), Reasoning: add(&reasoning)}))(t)
			check.That(t, got.Text == tt.text && got.Reasoning == tt.reasoning, "%q, %s: got %q and the thought %q", tt.content, form, got.Text, got.Reasoning)
			isOpen := strings.HasPrefix(tt.content, "<think> is") // it was shown as a thought
			check.That(t, isOpen || text.String() == tt.text && reasoning.String() == tt.reasoning, "%q, %s: shown %q and %q", tt.content, form, &text, &reasoning)
		}
	}
}
