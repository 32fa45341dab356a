package subject_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestWrap(t *testing.T) {
	named := subject.Errorf("append to run %q: %w", "a", io.ErrShortWrite)
	for _, c := range []struct {
		err  error
		want string
	}{
		{io.EOF, `answer run "b": EOF`},
		{named, `append to run "a": short write`},
		{fmt.Errorf("in the transaction: %w", named), `append to run "a": short write`},
		{errors.Join(named, io.EOF), `append to run "a": short write`},
	} {
		got := subject.Wrap(c.err, "answer run %q", "b")
		if got.Error() != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if cause := errors.Is(c.err, io.ErrShortWrite); errors.Is(got, io.ErrShortWrite) != cause || !cause && !errors.Is(got, io.EOF) {
			t.Errorf("got %v without its cause", got)
		}
	}
	check.NoError(t, subject.Wrap(nil, "answer run %q", "b"))
}
