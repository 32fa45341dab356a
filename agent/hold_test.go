package agent

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestNoVisitBeginsAfterTheEnd(t *testing.T) {
	v := new(activeHandlers)
	v.ctx, v.cancel = context.WithCancelCause(t.Context())
	visiting, leave, ok := v.register(t.Context())
	check.Require(t, ok && visiting.Err() == nil, "got %t with error %v, want a visit", ok, visiting.Err())
	go func() {
		<-visiting.Done()
		leave()
	}()
	v.end()
	same, _, ok := v.register(t.Context())
	check.That(t, !ok && same == t.Context(), "a visit began after the end")
	v.end() // must not block
}

// A run with which processes have died, of a tenant that has its share, keeps no other run waiting.
func TestSuspectBeyondItsShare(t *testing.T) {
	g := newGate(1)
	head := func(tenant, id string, takeovers int) run.Head {
		return run.Head{Key: run.Key{Tenant: tenant, ID: id}, Takeovers: takeovers, Updated: time.Now().Add(-time.Hour)}
	}
	for _, tt := range []struct {
		head run.Head
		want bool
	}{{head("acme", "1", 0), true}, {head("acme", "2", 5), false}, {head("other", "3", 0), true}} {
		check.Equal(t, tt.head.Key, g.start(tt.head), tt.want)
	}
}

// hanging is a store that renews leases until it is told to stop.
type hanging struct{ record.Store }

func (hanging) Renew(ctx context.Context, leases []record.Lease, _ time.Duration) []error {
	<-ctx.Done()
	return slices.Repeat([]error{ctx.Err()}, len(leases))
}

// Nothing is sent for a run whose work is over in this process: who asks for its lease does not wait. Whoever
// renews the leases stops the work on all late runs, also if its own is the first.
func TestConfirm(t *testing.T) {
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
		late, works := make([]hold, 20), make([]context.Context, 20)
		for i := range late {
			late[i].ttl, late[i].lease.Epoch = r.ttl, uint64(i)
			works[i], r.holds[&late[i]] = context.WithCancelCause(t.Context())
		}
		check.Is(t, r.confirm(works[0], &late[0]), context.Cause(works[0]))
		check.That(t, !slices.ContainsFunc(works, func(w context.Context) bool { return w.Err() == nil }), "a late run continues")
	})
}
