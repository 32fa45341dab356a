package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// lookEvery is how often a process looks for runs to cancel.
const lookEvery = time.Second

// errWished ends the work on a run that is to be cancelled.
var errWished = errors.New("the run is to end as cancelled")

// look ends the work on runs that are to be cancelled.
func (r *renewer) look(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	var wishes []record.Wish
	_ = guarded("the store", func() (err error) { // failures of the store are handled when leases are renewed
		wishes, err = r.store.Wishes(within)
		return err
	})
	if len(wishes) == 0 {
		return
	}
	holds := map[run.Key]*hold{}
	r.mu.Lock()
	for h := range r.holds {
		holds[h.lease.Key] = h
	}
	r.mu.Unlock()
	for _, w := range wishes {
		if h := holds[w.Key]; h != nil && h.means(within, w) {
			r.stop(h, errWished)
		}
	}
}

// means reports whether a wish applies to this process's work on the run. It may be void, and
// belong to an earlier input.
func (h *hold) means(ctx context.Context, w record.Wish) (yes bool) {
	if w.Seq >= h.lease.Seq {
		return true
	}
	if h.void == w {
		return false
	}
	_ = guarded("the store", func() error {
		log, err := h.store.Load(ctx, w.Key)
		if err == nil {
			if yes = !endedSince(log.Records, w.Seq); !yes {
				h.void = w
			}
		}
		return err
	})
	return yes
}

// endedSince reports whether a run has ended after a record, or may have, because the following
// records were pruned.
func endedSince(records []run.Record, seq uint64) bool {
	if len(records) > 0 && records[0].Seq > seq+1 {
		return true
	}
	return slices.ContainsFunc(records, func(r run.Record) bool {
		if r.Seq <= seq {
			return false
		}
		_, ended := ledger.ChangeOf(r).(*ledger.Ended)
		return ended
	})
}

// wished reports whether a run that this process acquires is to be cancelled.
func (h *hold) wished(ctx context.Context) bool {
	wishes, err := h.store.Wishes(ctx)
	if err != nil {
		return false // the work on it looks again
	}
	for _, w := range wishes {
		if w.Key == h.lease.Key {
			return h.means(ctx, w)
		}
	}
	return false
}

func cancelledRun() ledger.Change {
	return &ledger.Ended{Status: run.StatusCancelled, Error: "the run was cancelled"}
}

// endAsWished records the cancellation of a run whose work was ended for it.
func (d *session) endAsWished(ctx context.Context, l *loaded) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	now := &loaded{hold: l.hold, journal: l.journal}
	err := now.load(ctx, d.agent, l.hold.lease.Key)
	if err == nil && !now.state.Status.Ended() {
		now.first = []ledger.Change{cancelledRun()}
		err = (&session{agent: d.agent}).put(ctx, now)
	}
	if err != nil {
		return fmt.Errorf("cancel the run: %w", err)
	}
	l.state = now.state
	return overWithout(l.state)
}

// wakeLook makes this process look now.
func (r *renewer) wakeLook() {
	select {
	case r.wished <- struct{}{}:
	default:
	}
}
