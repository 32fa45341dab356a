package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// withHold calls do while this process holds a run. It is an error that matches [ErrConflict] if
// the run has changed since head was read.
func withHold(ctx context.Context, store Store, what string, head run.Head, do func(Lease) error) error {
	lease, err := store.Acquire(ctx, head.Key, Holder{Name: what, TTL: time.Minute})
	if err != nil {
		return err
	}
	defer func() { _ = release(ctx, store, lease) }() // if that fails, the lease expires
	if lease.Seq != head.Seq || !lease.Created.Equal(head.Created) {
		return fmt.Errorf("%s run %q: %w", what, head.Key.ID, ErrConflict)
	}
	return do(lease)
}

// releaseTime bounds the release of a lease.
const releaseTime = 5 * time.Second

// release releases a lease, even if the context has ended.
func release(ctx context.Context, store Store, lease Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return store.Release(ctx, lease)
}

// isBusy reports whether an error means that another process works on a run or has deleted it.
func isBusy(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict)
}

// Prune removes the records before the last snapshot of each run of a query, for example of runs
// whose last change is long ago ([Query.ChangedBefore]), and returns how many runs now begin with it.
// Pruned runs continue and can be exported as before; only their early history is removed:
// [Store.Load] returns the records from the snapshot on. Runs that are held, have no snapshot,
// change meanwhile or cannot be read stay as they are.
func Prune(ctx context.Context, store Store, q Query) (n int, err error) {
	var heads []run.Head
	for head, err := range SkipDamaged(store.List(ctx, q), nil) {
		if err != nil {
			return 0, fmt.Errorf("prune runs: %w", err)
		}
		if head.Snapshot > 1 {
			heads = append(heads, head)
		}
	}
	for _, head := range heads {
		err := withHold(ctx, store, "prune", head, func(lease Lease) error { return store.Prune(ctx, lease) })
		switch {
		case isBusy(err):
		case err != nil:
			return n, fmt.Errorf("prune runs: %w", err)
		default:
			n++
		}
	}
	return n, nil
}

// How long CancelRun waits for the holder of a run.
const (
	firstLook = 10 * time.Millisecond // doubled after each look
	lastLook  = time.Second
)

// CancelRun cancels a run from any process, without its agent. A run that has ended stays as it
// is. If a process holds the run, the store keeps a request: the holder stops its work
// within about a second, and CancelRun waits until the run has ended. If the context ends
// meanwhile, the error matches [ErrHeld] and says whether the request stays, so that a later holder
// cancels the run. A task that a server runs for the run is not stopped.
func CancelRun(ctx context.Context, store Store, key run.Key) error {
	cancel := func() error {
		return change(ctx, store, key, "cancel", func(s *ledger.State) (ledger.Change, error) {
			if s.Status.Ended() {
				return nil, nil
			}
			return ledger.Cancellation(), nil
		})
	}
	err := cancel()
	for wait := firstLook; errors.Is(err, ErrHeld) || errors.Is(err, ErrConflict); wait = min(2*wait, lastLook) {
		held, note := err, "its cancellation may be requested"
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", held, ctx.Err())
		}
		if err = store.RequestCancel(ctx, key); err == nil {
			note = "its cancellation stays requested"
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			err = cancel()
		}
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("%w; %s: %w", held, note, ctx.Err())
		}
	}
	return err
}

// change appends the change that choose returns to a run that nobody holds; nil means none. The error
// matches [ErrConflict] if another process was faster. It names the run.
func change(ctx context.Context, store Store, key run.Key, what string, choose func(*ledger.State) (ledger.Change, error)) error {
	log, err := store.LoadCurrent(ctx, key)
	if err != nil {
		return err
	}
	s, err := ledger.StateOf(log.Records)
	var c ledger.Change
	if err == nil {
		c, err = choose(s)
	}
	if err != nil {
		return fmt.Errorf("%s run %q: %w", what, key.ID, err)
	}
	if c == nil {
		return nil
	}
	return withHold(ctx, store, what, log.Head, func(lease Lease) error {
		records, err := s.Add(time.Now().UTC(), c)
		if err != nil {
			return fmt.Errorf("%s run %q: %w", what, key.ID, err)
		}
		return store.Append(ctx, lease, ledger.HeadOf(s), records)
	})
}

// StopParked is the stop reason of a run that failed because its processes died repeatedly
// without progress. [Revive] continues it.
const StopParked = "parked"

// Revive lets a run that has failed continue where it stopped, once the cause is removed: agent.Recover
// picks it up. It asks the model again, with the results of the calls that were made; those of calls in
// progress say that they may have run. Limits count from here. It is an error if the run has not failed.
func Revive(ctx context.Context, store Store, key run.Key) error {
	return change(ctx, store, key, "revive", func(s *ledger.State) (ledger.Change, error) {
		if s.Status != run.StatusFailed {
			return nil, fmt.Errorf("run is %s, and has not failed", s.Status)
		}
		return &ledger.Said{Limits: s.Limits, Schema: s.Schema}, nil
	})
}
