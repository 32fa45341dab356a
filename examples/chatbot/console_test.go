package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// screen is a console in memory; a typist answers each question with a line.
type screen struct {
	*console
	buffer *typist
}

// typist takes the output. After a text with a space at its end, as in
// questions, it types the next line; after the last line it closes the input.
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

func newScreen(t *testing.T, script ...string) *screen {
	t.Helper()
	w := &typist{script: script, lines: make(chan line, len(script)+1)}
	s := &screen{console: newConsole(new(bytes.Buffer), w, true), buffer: w}
	s.out = &w.Buffer
	s.in = &input{lines: w.lines}
	return s
}

func (s *screen) check(t *testing.T, want string) {
	t.Helper()
	if diff := cmp.Diff(want, s.buffer.String()); diff != "" {
		t.Errorf("screen: -want +got\n%s", diff)
	}
}

func TestScreen(t *testing.T) {
	s := newScreen(t, "")
	s.say("one ")
	s.say("two")
	s.progress("1/2")
	s.progress("2/2")
	s.note(s.style.tool, "a\nb")
	s.check(t, "bot › one two\n1/2\r\x1b[K2/2\r\x1b[Ka\n  b\n")
}

func TestNoteAtThePrompt(t *testing.T) {
	s := newScreen(t, "", "")
	s.prompt()
	s.note(s.style.warn, "warning")
	s.prompted(nil)
	s.note(s.style.warn, "done")
	s.check(t, "\nyou › \nwarning\n\nyou › done\n")
}

func TestServersCannotDraw(t *testing.T) {
	s := newScreen(t, "")
	s.say("\x1b[2J")
	s.note(s.style.warn, "%s", "\x1b]0;title\a")
	s.progress("%s", "\x1b[1A")
	if strings.Contains(strings.ReplaceAll(s.buffer.String(), "\r\x1b[K", ""), "\x1b") {
		t.Errorf("got %q, want no escapes", s.buffer)
	}
}

func TestDialogAfterItsContext(t *testing.T) {
	s := newScreen(t, "y")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	if err := s.dialog(ctx, func() error { t.Error("asked"); return nil }); err != errInterrupted {
		t.Errorf("got %v, want %v", err, errInterrupted)
	}
}
