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
		check.Equal(t, c.err, got.Error(), c.want)
		cause := errors.Is(c.err, io.ErrShortWrite)
		check.That(t, errors.Is(got, io.ErrShortWrite) == cause && (cause || errors.Is(got, io.EOF)), "got %v without its cause", got)
	}
	check.NoError(t, subject.Wrap(nil, "answer run %q", "b"))
}
