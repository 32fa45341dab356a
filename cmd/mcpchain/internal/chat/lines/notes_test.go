package lines

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// Note does not block during a dialog. The notes are shown at its end.
func TestNotesDuringADialog(t *testing.T) {
	s := newScreen(t)
	if err := s.dialog(t.Context(), func() error {
		for i := range maxNotes + 3 {
			s.Note(screen.Warn, "note %d", i)
			s.Progress("%d of 10", i)
		}
		if strings.Contains(s.buffer.String(), "note") {
			t.Error("a note is in the middle of a dialog")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.Note(screen.Warn, "later")
	want := ""
	for i := range maxNotes {
		want += fmt.Sprintf("note %d\n", i)
	}
	s.check(t, want+"3 more notes are not shown\nlater\n")
}
