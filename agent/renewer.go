package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// renewer renews the leases of all runs that an agent works on together: a thousand runs that each ask a busy database
// would be late. It also stops those that are to end. It has a goroutine while there are any.
type renewer struct {
	store record.Store
	batch record.BatchRenewer // nil: each lease is renewed alone
	ttl   time.Duration

	asked  chan struct{} // wakes the goroutine
	wished chan struct{} // has it look which runs are to end

	mu    sync.Mutex
	holds map[*hold]context.CancelCauseFunc // by which the work on each is stopped
	end   func()                            // ends the goroutine; nil if there is none
	next  *renewal                          // that some wait for; nil if nobody does
}

// renewal is one renewal of all leases.
type renewal struct {
	done chan struct{} // is closed at its end
	lost map[record.Lease]bool
	err  error
}

func newRenewer(store record.Store, ttl time.Duration) *renewer {
	batch, _ := store.(record.BatchRenewer)
	return &renewer{
		store: store, batch: batch, ttl: ttl, asked: make(chan struct{}, 1), wished: make(chan struct{}, 1),
		holds: map[*hold]context.CancelCauseFunc{},
	}
}

// add has the lease of a run renewed, if leases are renewed together, until remove is called.
func (r *renewer) add(h *hold, lost context.CancelCauseFunc) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[h] = lost
	if r.end == nil {
		r.begin()
	}
	return func() {
		r.mu.Lock()
		delete(r.holds, h)
		end := func() {}
		if len(r.holds) == 0 {
			end, r.end = r.end, nil
		}
		r.mu.Unlock()
		end()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.end == nil && r.next != nil { // nobody is left to renew anything
			close(r.next.done)
			r.next = nil
		}
	}
}

// errNotRenewed is the error of a run that the renewer does not have: the work on it is over in this process.
var errNotRenewed = errors.New("its lease is not renewed any more")

// confirm returns the outcome for a lease of the next renewal, which all have together who ask before it begins.
func (r *renewer) confirm(ctx context.Context, h *hold) error {
	r.mu.Lock()
	held := r.holds[h] != nil
	if held && r.next == nil {
		r.next = &renewal{done: make(chan struct{})}
	}
	next := r.next
	r.mu.Unlock()
	if !held {
		return errNotRenewed
	}
	select {
	case r.asked <- struct{}{}:
	default:
	}
	select {
	case <-next.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case next.lost[h.lease]:
		return record.ErrConflict
	case next.err == nil && !r.has(h):
		return errNotRenewed
	}
	return next.err
}

// has reports whether the lease of a run is renewed.
func (r *renewer) has(h *hold) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holds[h] != nil
}

// begin starts the goroutine, with the lock.
func (r *renewer) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		tick, look := time.NewTicker(max(r.ttl/3, time.Millisecond)), time.NewTicker(lookEvery)
		defer tick.Stop()
		defer look.Stop()
		r.renew(ctx) // while the store has a connection for it
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.renew(ctx)
			case <-r.asked:
				r.renew(ctx)
			case <-look.C:
				r.look(ctx)
			case <-r.wished:
				r.look(ctx)
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
	if r.batch == nil {
		return
	}
	var leases []record.Lease
	var holds []*hold
	r.mu.Lock()
	for h := range r.holds {
		leases, holds = append(leases, h.lease), append(holds, h)
	}
	now := r.next
	r.next = nil
	r.mu.Unlock()
	if now == nil {
		now = &renewal{done: make(chan struct{})}
	}
	defer close(now.done)
	within, cancel := context.WithTimeout(ctx, max(r.ttl/3, time.Millisecond))
	defer cancel()
	asked := time.Now()
	now.lost = map[record.Lease]bool{}
	now.err = guarded("the store", func() error {
		gone, err := r.batch.RenewAll(within, leases, r.ttl)
		for _, lease := range gone {
			now.lost[lease] = true
		}
		return err
	})
	for i, h := range holds {
		switch {
		case now.lost[leases[i]]:
			r.stop(h, errTaken(record.ErrConflict))
		case now.err == nil:
			h.renewedAt(asked)
		case ctx.Err() == nil && h.age() > r.ttl:
			r.stop(h, errLate(r.ttl, now.err))
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
