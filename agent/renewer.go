package agent

import (
	"context"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// renewer renews the leases of all runs that an agent works on together: a thousand runs that each ask a busy database
// would be late. It has a goroutine while there are any.
type renewer struct {
	store run.BatchRenewer
	ttl   time.Duration

	mu    sync.Mutex
	holds map[*hold]context.CancelCauseFunc // by which the work on each is stopped
	end   func()                            // ends the goroutine; nil if there is none
}

// newRenewer returns nil for a store that renews leases one by one.
func newRenewer(store run.Store, ttl time.Duration) *renewer {
	batch, ok := store.(run.BatchRenewer)
	if !ok {
		return nil
	}
	return &renewer{store: batch, ttl: ttl, holds: map[*hold]context.CancelCauseFunc{}}
}

// keep has the lease of a run renewed until the context ends.
func (r *renewer) keep(ctx context.Context, h *hold, lost context.CancelCauseFunc) {
	r.mu.Lock()
	r.holds[h] = lost
	if r.end == nil {
		r.begin()
	}
	r.mu.Unlock()
	<-ctx.Done()
	r.mu.Lock()
	delete(r.holds, h)
	end := func() {}
	if len(r.holds) == 0 {
		end, r.end = r.end, nil
	}
	r.mu.Unlock()
	end()
}

// begin starts the goroutine, with the lock.
func (r *renewer) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(max(r.ttl/3, time.Millisecond))
		defer tick.Stop()
		r.renew(ctx) // while the store has a connection for it
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.renew(ctx)
			}
		}
	})
	r.end = func() {
		cancel()
		group.Wait()
	}
}

// renew renews all leases, and stops the work on runs whose lease is lost.
func (r *renewer) renew(ctx context.Context) {
	var leases []run.Lease
	var holds []*hold
	r.mu.Lock()
	for h := range r.holds {
		leases, holds = append(leases, h.lease), append(holds, h)
	}
	r.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, max(r.ttl/3, time.Millisecond))
	defer cancel()
	asked := time.Now()
	lost := map[run.Lease]bool{}
	err := guarded("the store", func() error {
		gone, err := r.store.RenewAll(within, leases, r.ttl)
		for _, lease := range gone {
			lost[lease] = true
		}
		return err
	})
	for i, h := range holds {
		switch {
		case lost[leases[i]]:
			r.stop(h, errTaken(run.ErrConflict))
		case err == nil:
			h.renewedAt(asked)
		case ctx.Err() == nil && h.age() > r.ttl:
			r.stop(h, errLate(r.ttl, err))
		}
	}
}

func (r *renewer) stop(h *hold, err error) {
	r.mu.Lock()
	lost := r.holds[h]
	r.mu.Unlock()
	if lost != nil {
		lost(err)
	}
}
