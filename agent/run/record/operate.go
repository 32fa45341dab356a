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

// DeleteEnded deletes the runs of a query that have ended, for example those whose last change is
// long ago ([Query.ChangedBefore]), and returns how many. It can be interrupted and repeated.
// Query.Limit bounds the number of deleted runs; 0 deletes all. Runs that cannot be read stay, and
// so do runs that a process holds, or that get another input meanwhile; but the part of a run that an
// interrupted [Import] has left goes after a day. DeleteEnded continues after a run that it cannot
// delete; its error has the first 10 reasons, and how many more there are.
func DeleteEnded(ctx context.Context, store Store, q Query) (n int, err error) {
	if q.Status != "" && !q.Status.Ended() {
		return 0, fmt.Errorf("delete runs: status %q is not that of an ended run", q.Status)
	}
	statuses := []run.Status{q.Status}
	if q.Status == "" {
		statuses = []run.Status{run.StatusFinished, run.StatusFailed, run.StatusCancelled}
	}
	limit := q.Limit
	q.Limit = 0 // a store may count runs that cannot be read
	var failures failures
	for _, status := range statuses {
		q.Status = status
		for head, err := range SkipDamaged(store.List(ctx, q), nil) {
			if limit > 0 && n == limit {
				return n, failures.err()
			}
			if err != nil { // of the list
				return n, errors.Join(failures.err(), fmt.Errorf("delete runs: %w", err))
			}
			switch err := deleteEnded(ctx, store, head); {
			case err == nil:
				n++
			case ctx.Err() != nil:
				return n, fmt.Errorf("delete runs: %w", err)
			case !isBusy(err):
				failures.add(fmt.Errorf("delete runs: %w", err))
			}
		}
	}
	return n, failures.err()
}

// failures keeps the first errors of work that continues after them.
type failures struct {
	first []error
	more  int
}

// maxReasons bounds the errors that DeleteEnded returns.
const maxReasons = 10

func (f *failures) add(err error) {
	if len(f.first) < maxReasons {
		f.first = append(f.first, err)
	} else {
		f.more++
	}
}

func (f *failures) err() error {
	if f.more > 0 {
		return errors.Join(append(f.first, fmt.Errorf("and %d more", f.more))...)
	}
	return errors.Join(f.first...)
}

// deleteEnded deletes a run that has not changed since head was read.
func deleteEnded(ctx context.Context, store Store, head run.Head) error {
	if isImport(head) && time.Since(head.HeldUntil.Add(-importTTL)) > maxImport {
		return store.Delete(ctx, head.Key)
	}
	var err error
	for range 2 { // an outage may be over the second time
		isHeld := false
		err = withHold(ctx, store, "delete", head, func(Lease) error {
			isHeld = true
			return store.Delete(ctx, head.Key)
		})
		if err == nil || isHeld || isBusy(err) || ctx.Err() != nil {
			return err
		}
	}
	// A full disk has no room for the lease. After another error the run may have another input.
	log, loadErr := store.LoadCurrent(ctx, head.Key)
	switch {
	case loadErr != nil:
		return err
	case log.Head.Seq != head.Seq || !log.Head.Created.Equal(head.Created) || log.Head.HeldAt(time.Now()):
		return fmt.Errorf("delete run %q: %w", head.Key.ID, ErrConflict)
	}
	return store.Delete(ctx, head.Key)
}
