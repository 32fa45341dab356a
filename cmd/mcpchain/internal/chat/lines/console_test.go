package lines

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// fake is a console in memory, at which a typist answers each question.
type fake struct {
	*Console
	buffer *typist
}

// typist collects the output. When a text ends with a space, as a question does, it types the next line of the script, or
// closes the input after the last one.
type typist struct {
	bytes.Buffer
	script []string
	lines  chan line
}

func (w *typist) Write(p []byte) (int, error) {
	if bytes.HasSuffix(p, []byte(" ")) {
		if len(w.script) == 0 {
			close(w.lines)
		} else {
			w.lines <- line{text: w.script[0]}
			w.script = w.script[1:]
		}
	}
	return w.Buffer.Write(p)
}

func newScreen(t *testing.T, script ...string) *fake {
	t.Helper()
	w := &typist{script: script, lines: make(chan line, len(script)+1)}
	return &fake{Console: New(&w.Buffer, w, &Input{lines: w.lines}, Options{Person: true}), buffer: w}
}

func (s *fake) check(t *testing.T, want string) {
	t.Helper()
	if diff := cmp.Diff(want, s.buffer.String()); diff != "" {
		t.Errorf("screen: -want +got\n%s", diff)
	}
}

// errOver is the cause of the end of a context.
var errOver = errors.New("over")

func TestScreen(t *testing.T) {
	s := newScreen(t, "")
	s.say("one ")
	s.say("two")
	s.Progress("1/2")
	s.Progress("2/2")
	s.Note(screen.Tool, "a\nb")
	s.check(t, "bot › one two\n1/2\r\x1b[K2/2\r\x1b[Ka\n  b\n")
}

func TestProgressOnADumbTerminal(t *testing.T) {
	s := newScreen(t)
	s.Dumb = true
	s.say("one")
	s.Progress("1/2")
	s.Progress("2/2")
	s.Note(screen.Tool, "done")
	s.check(t, "bot › one\n1/2\n2/2\ndone\n")
}

func TestNoteAtThePrompt(t *testing.T) {
	s := newScreen(t, "", "")
	s.promptLocked()
	s.Note(screen.Warn, "warning")
	s.waiting = false // the person has pressed Enter
	s.Note(screen.Warn, "done")
	s.check(t, "\nyou › \nwarning\n\nyou › done\n")
}

func TestServersCannotDraw(t *testing.T) {
	s := newScreen(t, "")
	s.say("\x1b[2J")
	s.Note(screen.Warn, "%s", "\x1b]0;title\a")
	s.Progress("%s", "\x1b[1A")
	if strings.Contains(strings.ReplaceAll(s.buffer.String(), "\r\x1b[K", ""), "\x1b") {
		t.Errorf("got %q, want no escapes", s.buffer)
	}
}

func TestDialogAfterItsContext(t *testing.T) {
	s := newScreen(t, "y")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOver)
	if err := s.dialog(ctx, func() error { t.Error("asked"); return nil }); err != errOver {
		t.Errorf("got %v, want %v", err, errOver)
	}
}

// A line that was typed before a question does not answer it.
func TestTypedAhead(t *testing.T) {
	s := newScreen(t, "n")
	s.in.lines <- line{text: "y"}
	key, err := s.Choose(t.Context(), &screen.Choice{Question: "Allow it?", Answers: []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}}})
	if err != nil || key != 'n' {
		t.Errorf("got %c, %v; want the later no", key, err)
	}
}
