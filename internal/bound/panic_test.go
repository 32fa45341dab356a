package bound

import (
	"errors"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	failed := errors.New("failed")
	if err := Run("f", func() error { return failed }); err != failed {
		t.Errorf("got %v, want the error of f", err)
	}
	err := Run("f", func() error { panic("oops") })
	p, ok := errors.AsType[*PanicError](err)
	if !ok || err.Error() != "f panicked: oops" || p.Value != "oops" {
		t.Fatalf("got %v, want the panic", err)
	}
	if !strings.Contains(string(p.Stack), "TestRun") {
		t.Errorf("got the stack %s, want one that leads to the panic", p.Stack)
	}
}
