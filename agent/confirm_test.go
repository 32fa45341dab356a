package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// hanging is a store that renews leases until it is told to stop.
type hanging struct{ record.Store }

func (hanging) Renew(ctx context.Context, _ []record.Lease, _ time.Duration) []error {
	<-ctx.Done()
	return []error{ctx.Err()}
}

// Nothing is sent for a run whose work is over in this process: who asks for its lease does not wait.
func TestConfirmAfterTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRenewer(hanging{}, time.Hour)
		h := &hold{renewer: r, ttl: time.Hour}
		check.Is(t, h.confirm(t.Context()), errNotRenewed, "before the work")
		remove := r.add(h, func(error) {})
		confirmed := make(chan error, 1)
		go func() { confirmed <- h.confirm(t.Context()) }()
		synctest.Wait()
		remove()
		check.Fails(t, <-confirmed, "at the end of the work")
		check.Is(t, h.confirm(t.Context()), errNotRenewed, "after the work")
	})
}
