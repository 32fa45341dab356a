package lines

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine-1) // and a line break
	in := NewInput(t.Context(), strings.NewReader("a\x1b[D\r\n\n"+long+"\n"+long+"x\nb"), false)
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
