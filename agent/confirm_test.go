package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// hanging is a store that renews leases until it is told to stop.
type hanging struct{ record.Store }

func (hanging) RenewAll(ctx context.Context, _ []record.Lease, _ time.Duration) ([]record.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Nothing is sent for a run whose work is over in this process: who asks for its lease does not wait.
func TestConfirmAfterTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRenewer(hanging{}, time.Hour)
		h := &hold{all: r, ttl: time.Hour}
		if err := h.confirm(t.Context()); !errors.Is(err, errNotRenewed) {
			t.Errorf("before the work: got %v, want %v", err, errNotRenewed)
		}
		remove := r.add(h, func(error) {})
		confirmed := make(chan error, 1)
		go func() { confirmed <- h.confirm(t.Context()) }()
		synctest.Wait()
		remove()
		if err := <-confirmed; err == nil {
			t.Error("at the end of the work: got no error")
		}
		if err := h.confirm(t.Context()); !errors.Is(err, errNotRenewed) {
			t.Errorf("after the work: got %v, want %v", err, errNotRenewed)
		}
	})
}
