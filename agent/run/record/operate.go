package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
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
	isHeld := false
	deleteHeld := func() error {
		return withHold(ctx, store, "delete", head, func(Lease) error {
			isHeld = true
			return store.Delete(ctx, head.Key)
		})
	}
	isOver := func(err error) bool { return err == nil || isHeld || isBusy(err) || ctx.Err() != nil }
	err := deleteHeld()
	if !isOver(err) {
		err = deleteHeld() // an outage may be over
	}
	if isOver(err) {
		return err
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

// Verify reads the runs of a query and compares each with its head. It yields the runs with
// defects, and the defect: a run that cannot be read, records that contradict each other, a
// snapshot or a head that the records do not produce, a blob that is missing or differs. An
// error of the store itself has an empty key and is the last pair.
func Verify(ctx context.Context, store Store, q Query) iter.Seq2[run.Key, error] {
	return func(yield func(run.Key, error) bool) {
		for head, err := range store.List(ctx, q) {
			isDamaged := errors.Is(err, ErrDamaged)
			if err != nil && !isDamaged {
				yield(run.Key{}, fmt.Errorf("verify runs: %w", err))
				return
			}
			if !isDamaged {
				err = verify(ctx, store, head.Key)
			}
			ended := ctx.Err()
			if err != nil && !isDamaged && ended == nil {
				ended = checkStore(ctx, store, head.Key)
			}
			if ended != nil {
				yield(run.Key{}, fmt.Errorf("verify runs: %w", ended))
				return
			}
			if err != nil && !yield(head.Key, err) {
				return
			}
		}
	}
}

// verify returns the defect of a run. A run that was deleted in the meantime has none.
func verify(ctx context.Context, store Store, key run.Key) error {
	log, err := store.Load(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return fmt.Errorf("run %q: %w: %w", key.ID, err, ErrCorrupt)
	}
	want, got := ledger.HeadOf(s), log.Head
	got.Epoch, got.HeldUntil, got.TTL, got.ReplyCount = want.Epoch, want.HeldUntil, want.TTL, want.ReplyCount
	if len(got.Questions) == 0 { // written by an older version, or by a store that encrypts
		want.Questions = nil
	}
	if a, b := encodeHead(want), encodeHead(got); !bytes.Equal(a, b) {
		return fmt.Errorf("run %q: its head is %s, and its records make %s: %w", key.ID, b, a, ErrCorrupt)
	}
	if current := log.Current(); len(current.Records) < len(log.Records) {
		if err := checkSnapshot(current, s); err != nil {
			return fmt.Errorf("run %q: its snapshot in record %d: %w: %w", key.ID, log.Head.Snapshot, err, ErrCorrupt)
		}
	}
	return verifyBlobs(ctx, store, s)
}

// checkSnapshot returns an error if the records from the last snapshot on do not lead to a state.
func checkSnapshot(current *Log, want *ledger.State) error {
	s, err := ledger.StateOf(current.Records)
	if err != nil {
		return err
	}
	first, err := want.MarshalJSON()
	if err != nil {
		return err
	}
	second, err := s.MarshalJSON()
	if err == nil && !bytes.Equal(first, second) {
		err = errors.New("leads to another state")
	}
	return err
}

// encodeHead returns the JSON of a head, or the text of its error, which differs from any head.
func encodeHead(h run.Head) []byte {
	data, err := json.Marshal(h)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

// verifyBlobs compares the results that are stored beside the records with what these say of them.
func verifyBlobs(ctx context.Context, store Store, s *ledger.State) error {
	all, err := blobsOf(ctx, store, run.Key{Tenant: s.Tenant, ID: s.ID})
	if err != nil {
		return err
	}
	for _, k := range s.Kept {
		data, ok := all[k.Handle]
		if !ok {
			return fmt.Errorf("run %q: the result %q is missing: %w", s.ID, k.Handle, ErrCorrupt)
		}
		if err := ledger.CheckKept(k, data); err != nil {
			return fmt.Errorf("run %q: %w: %w", s.ID, err, ErrCorrupt)
		}
	}
	return nil
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
// meanwhile, the error matches [ErrHeld] and says if the request stays, so that a later holder cancels
// the run. A task that a server runs for the run is not stopped.
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
// without progress. [Revive] starts it again.
const StopParked = "parked"

// Revive lets a parked run continue where it stopped, once the cause is removed: agent.Recover picks it
// up. Calls that were in progress are in doubt. It is an error if the run is not parked.
func Revive(ctx context.Context, store Store, key run.Key) error {
	return change(ctx, store, key, "revive", func(s *ledger.State) (ledger.Change, error) {
		if s.Status != run.StatusFailed || s.Stop != StopParked {
			return nil, fmt.Errorf("run is %s, and not parked", s.Status)
		}
		return &ledger.Said{Limits: s.Limits, Schema: s.Schema}, nil
	})
}
