package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

	renewing chan struct{} // has an element during a renewal
	checkNow chan struct{} // makes the goroutine look for runs to cancel

	mu    sync.Mutex                        // guards the following fields
	holds map[*hold]context.CancelCauseFunc // the functions stop the work on the runs
	end   func()                            // ends the goroutine, nil if none is running
}

func newRenewer(store record.Store, ttl time.Duration) *renewer {
	return &renewer{
		store: store, ttl: ttl,
		renewing: make(chan struct{}, 1), checkNow: make(chan struct{}, 1),
		holds: map[*hold]context.CancelCauseFunc{},
	}
}

// add renews the lease of a run until remove is called. It calls lost when the work on the run has to
// stop. remove waits for a renewal that is in progress, at most lastWrite: it could come
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
		end := func() {}
		if len(r.holds) == 0 {
			end, r.end = r.end, nil
		}
		r.mu.Unlock()
		end()
		select {
		case r.renewing <- struct{}{}:
			<-r.renewing
		case <-time.After(lastWrite):
		}
	}
}

// errNotRenewed is the error of a lease that the renewer does not have: this process no longer
// works on the run.
var errNotRenewed = errors.New("lease is no longer renewed")

// confirm renews all leases, unless another caller has done that for this one in the meantime, and returns the error
// for this one.
func (r *renewer) confirm(ctx context.Context, h *hold) error {
	select {
	case r.renewing <- struct{}{}:
		defer func() { <-r.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	isHeld := r.holds[h] != nil
	r.mu.Unlock()
	if isHeld && h.isFresh() {
		return nil
	}
	if isHeld { // it may end during the renewal
		if err, ok := r.renew(ctx)[h.lease]; ok {
			return cmp.Or(context.Cause(ctx), err)
		}
	}
	return errNotRenewed
}

// beginLocked starts the goroutine.
func (r *renewer) beginLocked() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		renewals := time.NewTicker(renewInterval(r.ttl))
		defer renewals.Stop()
		checks := time.NewTicker(cancelInterval)
		defer checks.Stop()
		renew := func() {
			select {
			case r.renewing <- struct{}{}:
				defer func() { <-r.renewing }()
				r.renew(ctx)
			case <-ctx.Done():
			}
		}
		renew() // immediately, while the store has a connection for it
		for {
			select {
			case <-ctx.Done():
				return
			case <-renewals.C:
				renew()
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

// renew renews all leases in one request, and stops the work on runs whose leases are lost. It returns the error of
// each lease, nil for those that were renewed. The caller prevents other renewals meanwhile.
func (r *renewer) renew(ctx context.Context) map[record.Lease]error {
	r.mu.Lock()
	holds := slices.Collect(maps.Keys(r.holds))
	r.mu.Unlock()
	leases := make([]record.Lease, len(holds))
	for i, h := range holds {
		leases[i] = h.lease
	}
	requested := time.Now()
	limited, cancel := context.WithTimeout(ctx, renewInterval(r.ttl))
	defer cancel()
	var errs []error
	err := guard("the store", func() error {
		errs = r.store.Renew(limited, leases, r.ttl)
		if len(errs) != len(leases) {
			return fmt.Errorf("store returned %d errors for %d leases", len(errs), len(leases))
		}
		return nil
	})
	if err != nil {
		errs = slices.Repeat([]error{err}, len(leases))
	}
	isOver := ctx.Err() != nil // the loop may end a caller's context, too
	failed := map[record.Lease]error{}
	for i, h := range holds {
		failed[h.lease] = errs[i]
		switch err := errs[i]; {
		case err == nil:
			h.setRenewed(requested)
		case errors.Is(err, record.ErrConflict):
			r.stop(h, fmt.Errorf("run is held by another process: %w", err))
		case !isOver && h.age() > r.ttl:
			r.stop(h, &lateError{r.ttl, err})
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
