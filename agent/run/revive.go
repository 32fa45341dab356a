package run

import (
	"context"
	"fmt"
	"time"
)

// StopParked is the Stop of a run that has failed because its processes ended again and again without progress.
// [Revive] has it run again.
const StopParked = "parked"

// Revive has a parked run continue from where it was, after its cause is gone: [agent.Recover] takes it up. Calls that
// were under way are in doubt, and the model is told. The error is for a run that is not parked.
func Revive(ctx context.Context, store Store, key Key) error {
	wrap := func(err error) error { return fmt.Errorf("revive run %q: %w", key.ID, err) }
	log, err := LoadCurrent(ctx, store, key)
	if err != nil {
		return wrap(err)
	}
	s, err := Fold(log.Records)
	switch {
	case err != nil:
		return wrap(err)
	case s.Status != Failed || s.Stop != StopParked:
		return wrap(fmt.Errorf("it is %s, and not parked", s.Status))
	}
	lease, err := store.Acquire(ctx, key, Holder{Name: "revive", TTL: time.Minute})
	if err != nil {
		return wrap(err)
	}
	defer func() { _ = store.Release(context.WithoutCancel(ctx), lease) }()
	r := Record{Seq: s.Seq + 1, At: time.Now().UTC(), Change: &Said{Limits: s.Limits, Schema: s.Schema}}
	if err := Apply(s, r); err != nil {
		return wrap(err)
	}
	if err := store.Append(ctx, lease, HeadOf(s), []Record{r}); err != nil { // a conflict if another process was faster
		return wrap(err)
	}
	return nil
}
