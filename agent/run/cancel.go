package run

import (
	"context"
	"fmt"
	"time"
)

// CancelRun ends a run as cancelled, without its agent. One that has ended before stays as it is. The error matches [ErrHeld] if a
// process works on the run: end its work there first. A task that a server works on for the run continues there.
func CancelRun(ctx context.Context, store Store, key Key) error {
	return change(ctx, store, key, "cancel", func(s *State) (Change, error) {
		if s.Status.Ended() {
			return nil, nil
		}
		return &Ended{Status: StatusCancelled, Error: "the run was cancelled"}, nil
	})
}

// change adds a change to a run that no process works on, if there is one to add.
func change(ctx context.Context, store Store, key Key, what string, of func(*State) (Change, error)) error {
	wrap := func(err error) error { return fmt.Errorf("%s run %q: %w", what, key.ID, err) }
	log, err := LoadCurrent(ctx, store, key)
	if err != nil {
		return wrap(err)
	}
	s, err := Fold(log.Records)
	if err != nil {
		return wrap(err)
	}
	c, err := of(s)
	if c == nil || err != nil {
		if err != nil {
			err = wrap(err)
		}
		return err
	}
	lease, err := store.Acquire(ctx, key, Holder{Name: what, TTL: time.Minute})
	if err != nil {
		return wrap(err)
	}
	defer func() { _ = store.Release(context.WithoutCancel(ctx), lease) }()
	r := Record{Seq: s.Seq + 1, At: time.Now().UTC(), Change: c}
	if err := Apply(s, r); err != nil {
		return wrap(err)
	}
	if err := store.Append(ctx, lease, HeadOf(s), []Record{r}); err != nil { // a conflict if another process was faster
		return wrap(err)
	}
	return nil
}
