package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/backoff"
)

// hold is a run that this process holds in a store: its [journal], and the clock of its
// lease.
type hold struct {
	store record.Store
	all   *renewer // has the lease renewed; nil: it is renewed alone
	lease record.Lease
	ttl   time.Duration // 0: the lease is the business of whoever drives the run
	void  record.Wish   // an earlier one, which is not for this work; of the goroutine that looks

	mu      sync.Mutex  // guards the fields below
	renewed time.Time   // when the last renewal that succeeded was asked for
	unkept  []run.Reply // given to this process, and kept with the first records
}

// appendPolicy is how long a store that has failed is left alone before it is asked again.
var appendPolicy = backoff.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}

// Append implements [journal]. A store that fails is asked again while the lease lasts: what this process
// knows, such as the outcome of a call, would be in doubt for every other. The numbers of the records keep it from
// being appended twice.
func (h *hold) Append(ctx context.Context, head run.Head, records []run.Record) error {
	answers := h.given()
	began := time.Now()
	for n := 0; ; n++ {
		err := h.store.Append(ctx, h.lease, head, records, answers...)
		if n > 0 && errors.Is(err, record.ErrConflict) && h.has(ctx, head, records) {
			err = nil // the store had kept it and failed afterwards
		}
		if err == nil || errors.Is(err, record.ErrReplied) || errors.Is(err, run.ErrNotAsked) {
			h.settled()
			return err
		}
		wait := appendPolicy.Delay(n)
		if !passes(err) || time.Since(began)+wait > max(h.ttl, lastWrite) || h.ttl > 0 && h.age()+wait > h.ttl {
			return err
		}
		if backoff.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// passes reports whether a store that failed with an error may succeed later.
func passes(err error) bool {
	for _, final := range []error{record.ErrConflict, record.ErrNotFound, record.ErrCorrupt, record.ErrTooLarge, context.Canceled} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// has reports whether the store has these records of this holder as the last ones.
func (h *hold) has(ctx context.Context, head run.Head, records []run.Record) bool {
	if len(records) == 0 {
		return false
	}
	log, err := h.store.Load(ctx, h.lease.Key)
	if err != nil || log.Head.Seq != head.Seq || log.Head.Epoch != h.lease.Epoch || len(log.Records) < len(records) {
		return false
	}
	for i, kept := range log.Records[len(log.Records)-len(records):] {
		if !bytes.Equal(kept.JSON, records[i].JSON) {
			return false
		}
	}
	return true
}

func (h *hold) given() []run.Reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unkept
}

func (h *hold) settled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unkept = nil
}

// keepAnswers keeps the answers that no record was appended with: the run could not go on, and
// whoever takes it up takes them.
func (h *hold) keepAnswers(ctx context.Context) error {
	answers := h.given()
	if len(answers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	err := guarded("the store", func() error { return h.store.Reply(ctx, h.lease.Key, answers) })
	if err != nil {
		return fmt.Errorf("keep the answers: %w", err)
	}
	return nil
}

// Replies implements [journal].
func (h *hold) Replies(ctx context.Context) ([]run.Reply, error) {
	log, err := record.LoadCurrent(ctx, h.store, h.lease.Key)
	if err != nil {
		return nil, err
	}
	return log.Replies, nil
}

// Confirm returns nil if the lease lasts, by the clock of this process. A lease that may have
// expired is renewed first: this process may have been stopped.
func (h *hold) Confirm(ctx context.Context) error {
	renew := h.renew
	if h.all != nil {
		renew = func(ctx context.Context) error { return h.all.confirm(ctx, h) }
	}
	for range 3 { // it may be stopped during a renewal
		if h.ttl == 0 || h.age() < h.ttl-h.ttl/leaseMargin {
			return nil
		}
		if err := renew(ctx); err != nil {
			return fmt.Errorf("another process may hold the run: %w", err)
		}
	}
	return fmt.Errorf("another process may hold the run: its lease of %v expires faster than it is renewed", h.ttl)
}

// leaseMargin is the part of a lease in which nothing is sent before a renewal: clocks
// differ, and a request takes a moment to be written.
const leaseMargin = 4

// age is how long ago the lease was asked for. The monotonic clock of some systems stands
// still while the machine sleeps, and the clock on the wall may be set.
func (h *hold) age() time.Duration {
	h.mu.Lock()
	renewed := h.renewed
	h.mu.Unlock()
	now := time.Now()
	return max(now.Sub(renewed), now.Round(0).Sub(renewed.Round(0)))
}

// renew renews the lease, in a part of its time: a store that hangs must not hide that the
// lease is over.
func (h *hold) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(h.ttl/3, time.Millisecond))
	defer cancel()
	asked := time.Now()
	err := guarded("the store", func() error { return h.store.Renew(ctx, h.lease, h.ttl) })
	if err == nil {
		h.renewedAt(asked)
	}
	return err
}

// renewedAt notes that a renewal that was asked for at a time has succeeded.
func (h *hold) renewedAt(asked time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if asked.After(h.renewed) {
		h.renewed = asked
	}
}

// errTaken says that the work on a run is stopped because its lease is another's.
func errTaken(err error) error { return fmt.Errorf("the run is held by another process: %w", err) }

// errLate says that the work on a run is stopped because its lease may be another's.
func errLate(ttl time.Duration, err error) error {
	return fmt.Errorf("the lease of the run could not be renewed for %v, and another process may take the run: %w", ttl, err)
}

// keep renews the lease until the context ends.
func (h *hold) keep(ctx context.Context, lost context.CancelCauseFunc) {
	tick := time.NewTicker(max(h.ttl/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch err := h.renew(ctx); {
		case err == nil:
		case ctx.Err() != nil:
			return
		case errors.Is(err, record.ErrConflict):
			lost(errTaken(err))
			return
		case h.age() > h.ttl:
			lost(errLate(h.ttl, err))
			return
		}
	}
}

// release lets others take the run.
func (h *hold) release() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = h.store.Release(ctx, h.lease) // it expires otherwise
}
