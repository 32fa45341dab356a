package lines

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// An answer in pieces is wrapped like one in a single piece.
func TestWrapAnswer(t *testing.T) {
	s := newScreen(t)
	s.Width, s.Wrap = func() int { return 20 }, true
	for _, piece := range []string{"The qu", "ick ", "brown", " fox jumps over", " the lazy dog", "."} {
		s.say(piece)
	}
	s.End()
	s.check(t, "bot › The quick\nbrown fox jumps\nover the lazy dog.\n")
}

// Words of an answer are not broken, so that they can be copied.
func TestLongWordsOfAnswer(t *testing.T) {
	s := newScreen(t)
	s.Width, s.Wrap = func() int { return 20 }, true
	s.say(strings.Repeat("x", 34) + " and " + strings.Repeat("y", 40) + " z")
	s.End()
	s.check(t, "bot › \n"+strings.Repeat("x", 34)+" and\n"+strings.Repeat("y", 40)+"\nz\n")
}

func TestWrapNote(t *testing.T) {
	s := newScreen(t)
	s.Width = func() int { return 20 }
	s.Note(screen.Tool, "%s", "  a list that is too long")
	s.Progress("%s", strings.Repeat("x", 30))
	s.check(t, "  a list that is\n  too long\n"+strings.Repeat("x", 18)+"…")
}
