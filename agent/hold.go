package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/backoff"
)

// hold is a run that this process holds in a store.
type hold struct {
	store   record.Store
	renewer *renewer // renews the lease together with others; set when the work on the run begins
	lease   record.Lease
	ttl     time.Duration
	host    context.Context // ends when the host ends the work on the run; it outlives the lease
	void    uint64          // the last record before a request to cancel an earlier input; used before the renewer has the hold, then by it

	mu      sync.Mutex  // guards the fields below
	renewed time.Time   // when the last successful renewal was requested
	unsaved []run.Reply // given to this process; stored with the next records
}

// appendPolicy sets the waits between attempts at a store that has failed.
var appendPolicy = backoff.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}

// maxOutage is how much longer than a lease an append is tried again if the store is away.
const maxOutage = time.Minute

// append stores records, and the head of the state after them, durably, with the replies that were
// given to this process. The numbers of the records prevent a double append.
func (h *hold) append(ctx context.Context, head run.Head, records []run.Record) error {
	replies := h.unsavedReplies()
	err := h.persist(ctx, func() error {
		err := h.store.Append(ctx, h.lease, head, records, replies...)
		if errors.Is(err, record.ErrConflict) && h.isStored(ctx, head, records) {
			err = nil // an earlier attempt failed after the store had stored them
		}
		return err
	})
	if err == nil || errors.Is(err, record.ErrReplied) || errors.Is(err, run.ErrNotAsked) {
		h.mu.Lock()
		h.unsaved = nil // the store has them or refuses them
		h.mu.Unlock()
	}
	return err
}

// persist calls write again if the store fails, because what this process knows, such as the outcome
// of a call, would be in doubt for any other: for the time of a lease, and for maxOutage more if renewals
// fail, too. It does so even after the end of the lease, because the store refuses what comes after another
// process has acquired the run.
func (h *hold) persist(ctx context.Context, write func() error) error {
	began := time.Now()
	for n := 0; ; n++ {
		err := write()
		if err == nil {
			return nil
		}
		limit := max(h.ttl, lastWrite)
		if h.age() > h.ttl/2 { // renewals fail, too
			limit += maxOutage
		}
		wait := appendPolicy.Delay(n)
		if !isTransient(err) || time.Since(began)+wait > limit {
			return err
		}
		if backoff.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// lastContext returns the context of the last writes for a run whose context has ended. If the
// lease could not be renewed, the store may be back before the host ends the work.
func (h *hold) lastContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, late := errors.AsType[*lateError](context.Cause(ctx)); late {
		ctx = h.host
	}
	return outlive(ctx)
}

// isTransient reports whether a store that failed with this error may succeed later.
func isTransient(err error) bool {
	return !isAny(err, record.ErrConflict, record.ErrNotFound, record.ErrCorrupt, record.ErrTooLarge, record.ErrReplied,
		run.ErrNotAsked, context.Canceled)
}

// isStored reports whether these records are the last in the store, written by this holder.
func (h *hold) isStored(ctx context.Context, head run.Head, records []run.Record) bool {
	log, err := h.store.Load(ctx, h.lease.Key)
	if err != nil || len(log.Records) < len(records) || log.Head.Seq != head.Seq || log.Head.Epoch != h.lease.Epoch {
		return false
	}
	last := log.Records[len(log.Records)-len(records):]
	return slices.EqualFunc(last, records, func(a, b run.Record) bool { return bytes.Equal(a.JSON, b.JSON) })
}

// unsavedReplies returns the replies that were given to this process and are not yet durable.
func (h *hold) unsavedReplies() []run.Reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unsaved
}

// storeReplies stores the replies that were not appended with records, because the run could not
// continue. The next holder handles them.
func (h *hold) storeReplies(ctx context.Context) error {
	replies := h.unsavedReplies()
	if len(replies) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	err := guard("the store", func() error { return h.store.Reply(ctx, h.lease.Key, replies) })
	if err != nil {
		return fmt.Errorf("keep the answers: %w", err)
	}
	return nil
}

// replies returns replies to open questions that no record has yet.
func (h *hold) replies(ctx context.Context) ([]run.Reply, error) {
	log, err := h.store.LoadCurrent(ctx, h.lease.Key)
	if err != nil {
		return nil, err
	}
	return log.Replies, nil
}

// confirm returns nil if the lease is valid by the clock of this process. If it may have
// expired, because this process was stopped, it renews it first.
func (h *hold) confirm(ctx context.Context) error {
	for range 3 { // the process may be stopped during a renewal
		if h.isFresh() {
			return nil
		}
		if err := h.renewer.confirm(ctx, h); err != nil {
			return fmt.Errorf("another process may hold the run: %w", err)
		}
	}
	return fmt.Errorf("another process may hold the run: its lease of %v expires faster than it is renewed", h.ttl)
}

// isFresh reports whether a request may be sent without a renewal of the lease. In its last quarter none may:
// clocks differ, and writing a request takes time.
func (h *hold) isFresh() bool { return h.age() < h.ttl-h.ttl/4 }

// age returns the time since the lease was last requested with success, by the clock that shows more:
// on some systems the monotonic clock stops while the machine sleeps, and the wall clock may be changed.
func (h *hold) age() time.Duration {
	h.mu.Lock()
	renewed := h.renewed
	h.mu.Unlock()
	now := time.Now()
	return max(now.Sub(renewed), now.Round(0).Sub(renewed.Round(0)))
}

// renewInterval returns how often to renew a lease, and how long a renewal may take: a hanging store
// must not hide the end of the lease.
func renewInterval(ttl time.Duration) time.Duration { return max(ttl/3, time.Millisecond) }

// setRenewed records a successful renewal and when it was requested.
func (h *hold) setRenewed(requested time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if requested.After(h.renewed) {
		h.renewed = requested
	}
}

// lateError is the error of work on a run that another process may have acquired.
type lateError struct {
	ttl        time.Duration
	renewalErr error
}

func (e *lateError) Error() string {
	return fmt.Sprintf("the lease of the run could not be renewed for %v, and another process may take the run: %v",
		e.ttl, e.renewalErr)
}

func (e *lateError) Unwrap() error { return e.renewalErr }

// release ends the lease, so that others need not wait for its end. It takes at most lastWrite.
func (h *hold) release() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
	defer cancel()
	_ = guard("the store", func() error { return h.store.Release(ctx, h.lease) }) // otherwise it expires
}
