package person

import (
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/internal/check"
)

// suggested is a screen that records suggested texts.
type suggested struct {
	*typist.Screen
	line string
}

func (*suggested) Link(screen.Style, string, string) {}

func (s *suggested) Suggest(text string) bool {
	s.line = text
	return true
}

// A view's message in the name of the person cannot mention files of the person.
func TestMessageNamesNoFile(t *testing.T) {
	for text, want := range map[string]string{
		"@a (@b)\n@c": `\@a (\@b)` + "\n" + `\@c`, "see\u00a0@a": `see \@a`, "see\u3000@a": `see \@a`,
		"see \ufffd@a": "see \ufffd" + `\@a`, "see @@a": `see \@@a`, "ask x@example.io": "ask x@example.io",
	} {
		s := &suggested{Screen: typist.New(t, "y")}
		check.Must(t, New(s, false, nil, &Failures{}).TakeMessage(t.Context(), "maps", text))
		want = viewframe.Attribution("maps") + want
		check.That(t, s.line == want, "%q: got %q, want %q", text, s.line, want)
	}
}
