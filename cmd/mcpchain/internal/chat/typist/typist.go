// Package typist simulates a person at a plain terminal in tests: each question is answered by the
// next line of a script.
package typist

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/lines"
)

// Screen is a console that writes to memory.
type Screen struct {
	*lines.Console
	buffer *buffer
}

// buffer collects the output. When a text ends with a space, as a question does, it types the next
// line of the script, or closes the input after the last one.
type buffer struct {
	mu     sync.Mutex // guards the fields below
	text   bytes.Buffer
	script []string
	typed  *io.PipeWriter
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes.HasSuffix(p, []byte(" ")) && !bytes.HasSuffix(p, []byte("bot › ")) {
		if len(b.script) == 0 {
			b.typed.Close()
		} else {
			go io.WriteString(b.typed, b.script[0]+"\n")
			b.script = b.script[1:]
		}
	}
	return b.text.Write(p)
}

// New returns the screen of a person who types the lines of the script.
func New(t *testing.T, script ...string) *Screen {
	return Wide(t, 0, script...)
}

// Wide is New with a width in columns.
func Wide(t *testing.T, columns int, script ...string) *Screen {
	hide := func() (func(), error) { return func() {}, nil } // what is typed is never shown
	return open(t, lines.Options{Person: true, Width: func() int { return columns }, Hide: hide}, script)
}

// Absent returns a screen without a person.
func Absent(t *testing.T) *Screen { return open(t, lines.Options{}, nil) }

func open(t *testing.T, o lines.Options, script []string) *Screen {
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	b := &buffer{script: script, typed: w}
	return &Screen{Console: lines.New(b, b, lines.NewInput(t.Context(), r, o.Person), o), buffer: b}
}

// Check compares all that was shown.
func (s *Screen) Check(t *testing.T, want string) {
	t.Helper()
	if diff := cmp.Diff(want, s.Text()); diff != "" {
		t.Errorf("screen: -want +got\n%s", diff)
	}
}

// Text returns all that was shown.
func (s *Screen) Text() string {
	s.buffer.mu.Lock()
	defer s.buffer.mu.Unlock()
	return s.buffer.text.String()
}
