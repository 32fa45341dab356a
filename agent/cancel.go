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

// Cancel cancels a run of [Durable.Store] and returns its status. A run that has ended stays as
// it is. If another process holds the run, the error matches [record.ErrHeld]: that process is
// told and ends the run within about a second; [record.CancelRun] waits for it. What the model had
// written of its reply is then the output of the run, unless a hook with AfterModel would have read
// the reply. A task that a server runs for the run is not stopped.
func (a *Agent) Cancel(ctx context.Context, key run.Key) (run.Status, error) {
	l, err := a.hold(ctx, key)
	if errors.Is(err, record.ErrHeld) {
		if requestErr := a.recipe.opts.Durable.Store.RequestCancel(ctx, key); requestErr != nil {
			err = errors.Join(err, requestErr)
		}
		select {
		case a.recipe.renewer.checkNow <- struct{}{}: // this process may hold it
		default:
		}
	}
	if err != nil {
		return "", fmt.Errorf("cancel: %w", err)
	}
	defer l.hold.release()
	if l.state.Status.Ended() {
		return l.state.Status, nil
	}
	l.first = []ledger.Change{ledger.Cancellation()}
	if err := (&session{agent: a}).recordFirst(ctx, l); err != nil {
		return "", fmt.Errorf("cancel run %q: %w", key.ID, err)
	}
	return l.state.Status, nil
}

// cancelInterval is how often a process looks for runs to cancel.
const cancelInterval = time.Second

// errCancelRequested ends the work on a run that is to be cancelled.
var errCancelRequested = errors.New("cancellation of the run was requested")

// checkCancels ends the work on runs that are to be cancelled. If the store fails, the next check
// finds them.
func (r *renewer) checkCancels(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cancelInterval)
	defer cancel()
	var requests map[run.Key]uint64
	_ = guard("the store", func() (err error) { // failures of the store are handled when leases are renewed
		requests, err = r.store.CancelRequests(ctx)
		return err
	})
	if len(requests) == 0 {
		return
	}
	holds := map[run.Key]*hold{}
	r.mu.Lock()
	for h := range r.holds {
		holds[h.lease.Key] = h
	}
	r.mu.Unlock()
	for key, seq := range requests {
		if h := holds[key]; h != nil && h.hasToCancel(ctx, seq) {
			r.stop(h, errCancelRequested)
		}
	}
}

// hasToCancel reports whether a request after record number seq applies to this process's work on the
// run. It may be void, because it was for an earlier input.
func (h *hold) hasToCancel(ctx context.Context, seq uint64) (yes bool) {
	if seq >= h.lease.Seq {
		return true
	}
	if h.void == seq {
		return false
	}
	_ = guard("the store", func() error {
		log, err := h.store.Load(ctx, h.lease.Key)
		if err == nil {
			yes = !mayHaveEnded(log.Records, seq)
			if !yes {
				h.void = seq
			}
		}
		return err
	})
	return yes
}

// mayHaveEnded reports whether a run has ended after a record, or may have, because the following
// records were pruned.
func mayHaveEnded(records []run.Record, seq uint64) bool {
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

// endAsRequested records the cancellation of a run that this process holds, within lastWrite, and
// what the model has written of its reply. The error is [ErrCancelled], [ErrFailed] if the run has
// failed before, or nil if it was finished before.
func (s *session) endAsRequested(ctx context.Context, l *loadedRun) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	stored := &loadedRun{hold: l.hold}
	err := stored.load(ctx, s.agent, l.hold.lease.Key)
	if err == nil && !stored.state.Status.Ended() {
		end := ledger.Cancellation()
		end.Output = s.unfinished
		stored.first = []ledger.Change{end}
		err = (&session{agent: s.agent}).recordFirst(ctx, stored)
	}
	if err != nil {
		return fmt.Errorf("cancel the run: %w", err)
	}
	l.state, s.storedStatus = stored.state, ""
	return outcomeError(l.state)
}
