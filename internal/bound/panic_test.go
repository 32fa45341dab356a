package bound

import (
	"errors"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestRun(t *testing.T) {
	failed := errors.New("failed")
	check.Equal(t, "the error of f", Run("f", func() error { return failed }), failed)
	err := Run("f", func() error { panic("oops") })
	p, ok := errors.AsType[*PanicError](err)
	if !ok || err.Error() != "f panicked: oops" || p.Value != "oops" {
		t.Fatalf("got %v, want the panic", err)
	}
	check.Contains(t, "stack", string(p.Stack), "TestRun")
}
