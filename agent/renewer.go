package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// renewer renews the leases of all runs that an agent works on in one request, because a
// thousand requests to a busy database would be late. It also stops runs that are to be
// cancelled. Its goroutine lives while there are such runs.
type renewer struct {
	store record.Store
	ttl   time.Duration

	renewNow chan struct{} // makes the goroutine renew
	checkNow chan struct{} // makes the goroutine look for runs to cancel

	mu    sync.Mutex                        // guards the following fields
	holds map[*hold]context.CancelCauseFunc // the functions stop the work on the runs
	end   func()                            // ends the goroutine, nil if none is running
	next  *renewal                          // the one that callers of confirm wait for, or nil
}

// renewal is one renewal of all leases.
type renewal struct {
	done chan struct{}          // closed when it is complete; before that, errs is set
	errs map[record.Lease]error // of the leases that were to be renewed
}

func newRenewer(store record.Store, ttl time.Duration) *renewer {
	return &renewer{
		store: store, ttl: ttl,
		renewNow: make(chan struct{}, 1), checkNow: make(chan struct{}, 1),
		holds: map[*hold]context.CancelCauseFunc{},
	}
}

// add renews the lease of a run until remove is called. It calls lost when the work on the run has to
// stop. remove waits for a renewal of the lease that is in progress, at most lastWrite: it could come
// after the release, and the run would be held again.
func (r *renewer) add(h *hold, lost context.CancelCauseFunc) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[h] = lost
	if r.end == nil {
		r.beginLocked()
	}
	return func() {
		r.mu.Lock()
		delete(r.holds, h)
		last := h.renewal
		end := func() {}
		if len(r.holds) == 0 {
			end, r.end = r.end, nil
		}
		r.mu.Unlock()
		end()
		if last != nil {
			select {
			case <-last.done:
			case <-time.After(lastWrite):
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.end == nil && r.next != nil { // there is nothing left to renew
			close(r.next.done)
			r.next = nil
		}
	}
}

// errNotRenewed is the error of a lease that the renewer does not have: this process no longer
// works on the run.
var errNotRenewed = errors.New("lease is no longer renewed")

// confirm waits for the next renewal and returns its result for a lease. Callers that ask
// before it begins share one.
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
	case r.renewNow <- struct{}{}:
	default:
	}
	select {
	case <-next.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := next.errs[h.lease]; err != nil {
		return err
	}
	if !r.has(h) {
		return errNotRenewed
	}
	return nil
}

// has reports whether the lease of a run is renewed.
func (r *renewer) has(h *hold) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holds[h] != nil
}

// beginLocked starts the goroutine. The caller holds the lock.
func (r *renewer) beginLocked() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		renewals := time.NewTicker(renewInterval(r.ttl))
		defer renewals.Stop()
		checks := time.NewTicker(cancelInterval)
		defer checks.Stop()
		r.renew(ctx) // immediately, while the store has a connection for it
		for {
			select {
			case <-ctx.Done():
				return
			case <-renewals.C:
				r.renew(ctx)
			case <-r.renewNow:
				r.renew(ctx)
			case <-checks.C:
				r.checkCancels(ctx)
			case <-r.checkNow:
				r.checkCancels(ctx)
			}
		}
	})
	r.end = func() {
		cancel()
		group.Wait()
	}
}

// renew renews all leases, and stops the work on runs whose leases are lost.
func (r *renewer) renew(ctx context.Context) {
	var leases []record.Lease
	var holds []*hold
	r.mu.Lock()
	current := cmp.Or(r.next, &renewal{done: make(chan struct{})})
	r.next = nil
	for h := range r.holds {
		leases, holds = append(leases, h.lease), append(holds, h)
		h.renewal = current
	}
	r.mu.Unlock()
	defer close(current.done)
	requested := time.Now()
	current.errs = r.renewAll(ctx, leases)
	for i, h := range holds {
		switch err := current.errs[leases[i]]; {
		case err == nil:
			h.setRenewed(requested)
		case errors.Is(err, record.ErrConflict):
			r.stop(h, takenError(err))
		case ctx.Err() == nil && h.age() > r.ttl:
			r.stop(h, &lateError{r.ttl, err})
		}
	}
}

// renewAll renews leases in one request, and returns the errors of those that were not renewed.
func (r *renewer) renewAll(ctx context.Context, leases []record.Lease) map[record.Lease]error {
	ctx, cancel := context.WithTimeout(ctx, renewInterval(r.ttl))
	defer cancel()
	var errs []error
	err := guard("the store", func() error {
		errs = r.store.Renew(ctx, leases, r.ttl)
		if len(errs) != len(leases) {
			return fmt.Errorf("store returned %d errors for %d leases", len(errs), len(leases))
		}
		return nil
	})
	failed := map[record.Lease]error{}
	for i, lease := range leases {
		if err == nil {
			failed[lease] = errs[i]
		} else {
			failed[lease] = err
		}
	}
	return failed
}

// stop ends the work on a run with an error, unless it has ended.
func (r *renewer) stop(h *hold, err error) {
	r.mu.Lock()
	lost := r.holds[h]
	r.mu.Unlock()
	if lost != nil {
		lost(err)
	}
}
