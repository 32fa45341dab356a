package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

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
