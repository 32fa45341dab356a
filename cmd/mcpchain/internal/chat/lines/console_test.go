package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/check"
)

// fake is a console in memory, at which a typist answers each question.
type fake struct {
	*Console
	buffer *typist
}

// typist collects the output. When a text ends with a space, as a question does, it types the next
// line of the script, or closes the input after the last one.
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
	check.Same(t, "screen", s.buffer.String(), want)
}

// errOver is the cause of the end of a context.
var errOver = errors.New("over")

func TestScreen(t *testing.T) {
	s := newScreen(t, "")
	s.AddAnswer("one ")
	s.AddAnswer("two")
	s.Progress("1/2")
	s.Progress("2/2")
	s.Note(screen.Tool, "a\nb")
	s.check(t, "bot › one two\n1/2\r\x1b[K2/2\r\x1b[Ka\n  b\n")
}

func TestProgressOnADumbTerminal(t *testing.T) {
	s := newScreen(t)
	s.opts.Dumb = true
	s.AddAnswer("one")
	s.Progress("1/2")
	s.Progress("2/2")
	s.Note(screen.Tool, "done")
	s.check(t, "bot › one\n1/2\n2/2\ndone\n")
}

func TestNoteAtThePrompt(t *testing.T) {
	s := newScreen(t, "", "")
	s.promptLocked()
	s.Note(screen.Warn, "warning")
	s.unfinished = noLine // the person has pressed Enter
	s.Note(screen.Warn, "done")
	s.check(t, "\nyou › \nwarning\n\nyou › done\n")
}

func TestDialogAfterItsContext(t *testing.T) {
	s := newScreen(t, "y")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOver)
	check.Equal(t, "", s.runDialog(ctx, func() error { t.Error("asked"); return nil }), errOver)
}

// Note does not block during a dialog. The notes are shown at its end.
func TestNotesDuringADialog(t *testing.T) {
	s := newScreen(t)
	check.Must(t, s.runDialog(t.Context(), func() error {
		for i := range maxNotes + 3 {
			s.Note(screen.Warn, "note %d", i)
			s.Progress("%d of 10", i)
		}
		s.Show(&agent.ToolStart{Call: agent.Call{Tool: "other"}}) // the event of another call
		check.That(t, !strings.Contains(s.buffer.String(), "note"), "a note is in the middle of a dialog")
		return nil
	}))
	s.Note(screen.Warn, "later")
	want := ""
	for i := range maxNotes {
		want += fmt.Sprintf("note %d\n", i)
	}
	s.check(t, want+"4 more notes are not shown\nlater\n")
}

// Another dialog waits, as long as its context lasts.
func TestOneDialogAtATime(t *testing.T) {
	s := newScreen(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	check.Must(t, s.runDialog(t.Context(), func() error {
		cancel(errOver)
		check.Equal(t, "", s.runDialog(ctx, func() error { t.Error("asked"); return nil }), errOver)
		return nil
	}))
}

// The text of a model waits for the end of a dialog, and holds up nobody.
func TestAnswerDuringADialog(t *testing.T) {
	s := newScreen(t)
	check.Must(t, s.runDialog(t.Context(), func() error {
		s.Show(&agent.TextDelta{Text: "one"})
		s.Note(screen.Warn, "two")
		check.Equal(t, "shown", s.buffer.String(), "")
		return nil
	}))
	s.check(t, "bot › one\ntwo\n")
}

// A line that is skipped has ended the line of the prompt.
func TestLongLineAtThePrompt(t *testing.T) {
	s := newScreen(t)
	s.in.lines <- line{tooLong: true}
	check.Is(t, check.Err(s.Question(t.Context())), errLongLine)
	s.Note(screen.Fail, "skipped")
	s.check(t, "\nyou › skipped\n")
}

// A line of progress takes one row, also in scripts with characters of two columns: only one row is erased.
func TestProgressOfOneRow(t *testing.T) {
	s := newScreen(t)
	s.opts.Width = func() int { return 40 }
	s.Progress("%s", strings.Repeat("漢", 60))
	got := ansi.StringWidth(s.buffer.String())
	check.That(t, got <= 39, "got %d columns, want at most 39", got)
}

func TestShowResult(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, tt := range map[string]struct {
		result *adapter.Result
		want   string
	}{
		"short":   {&adapter.Result{Text: "a\nb"}, "← demo add: a b\n"},
		"empty":   {&adapter.Result{}, "← demo add:\n"},
		"long":    {&adapter.Result{Text: long}, "← demo add: " + long[:screen.MaxResult-1] + "… (/show has more)\n"},
		"failure": {&adapter.Result{Text: long, IsError: true}, "✗ demo add: " + long[:screen.MaxFailure-1] + "… (/show has more)\n"},
		"error":   {&adapter.Result{Text: "x", IsError: true, Err: fmt.Errorf("gone")}, "✗ demo add: gone\n"},
		"stopped": {&adapter.Result{Text: "x", IsError: true, Err: fmt.Errorf("call: %w", context.Canceled)}, "✗ demo add: stopped\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			s.Show(&agent.ToolEnd{Call: agent.Call{Server: "demo", Tool: "add"}, Result: tt.result})
			s.check(t, tt.want)
		})
	}
	s := newScreen(t)
	s.opts.Person = false
	s.Show(&agent.ToolEnd{Call: agent.Call{Server: "demo", Tool: "add"}, Result: &adapter.Result{Text: long}})
	s.check(t, "← demo add: "+long[:screen.MaxResult-1]+"…\n") // a script has no /show
}

// The last output of a server cannot look like lines of the program, whatever the width of the terminal.
func TestLostServer(t *testing.T) {
	s := newScreen(t)
	s.opts.Width = func() int { return 30 }
	s.Note(screen.Fail, "lost the server demo: exit status 1; its last lines on stderr:\nbot › \x1b[2Jall is well\nAllow it? [y]es %syou › \n  kept", strings.Repeat("x", 30))
	s.check(t, `lost the server demo: exit
  status 1; its last lines on
  stderr:
  bot › \x1b[2Jall is well
  Allow it? [y]es
  xxxxxxxxxxxxxxxxxxxxxxxxxxx
  xxxyou ›
  kept
`)
}

func TestWrapNote(t *testing.T) {
	s := newScreen(t)
	s.opts.Width = func() int { return 20 }
	s.Note(screen.Tool, "%s", "  a list that is too long")
	s.Progress("%s", strings.Repeat("x", 30))
	s.check(t, "  a list that is\n  too long\n"+strings.Repeat("x", 18)+"…")
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine-1) // and a line break
	in := NewInput(t.Context(), strings.NewReader("\ufeffa\x1b[D\r\n\n"+long+"\n"+long+"x\nb"), false)
	for i, want := range []struct {
		text string
		err  error
	}{{"a", nil}, {"", nil}, {long, nil}, {"", errLongLine}, {"b", nil}, {"", io.EOF}, {"", io.EOF}} {
		text, err := in.next(t.Context())
		check.That(t, text == want.text && errors.Is(err, want.err), "line %d: got %.20q, %v; want %.20q, %v", i, text, err, want.text, want.err)
	}
}

func TestReadErrorIsReported(t *testing.T) {
	broken := errors.New("broken")
	in := NewInput(t.Context(), io.MultiReader(strings.NewReader("a\nb"), &failing{broken}), false)
	text, err := in.next(t.Context())
	check.That(t, text == "a" && err == nil, "got %q, %v", text, err)
	check.Is(t, check.Err(in.next(t.Context())), broken)
}

func TestReadErrorBeforeADialog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		in := NewInput(t.Context(), io.MultiReader(strings.NewReader("a\n"), &failing{broken}), true)
		synctest.Wait()
		in.discard()
		check.Is(t, check.Err(in.next(t.Context())), broken)
	})
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestNextGivesUp(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	in := NewInput(t.Context(), r, true)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOver)
	check.Is(t, check.Err(in.next(ctx)), errOver)
}

// All lines that were typed before a question are dropped.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		in := NewInput(t.Context(), r, true)
		check.Must(t, check.Err(io.WriteString(w, strings.Repeat("y\n", 2*maxTypeAhead))))
		synctest.Wait()
		in.discard()
		go io.WriteString(w, "n\n")
		text, err := in.next(t.Context())
		check.That(t, text == "n" && err == nil, "got %q, %v; want n", text, err)
		w.Close()
		_, err = in.next(t.Context())
		check.That(t, err == io.EOF, "got %v, want EOF", err)
	})
}
