package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Pruner is a [Store] that can forget the records of a run before its last snapshot.
type Pruner interface {
	// Prune removes the records before Head.Snapshot, and none if that is 0. All else stays: the state of the run, and answers to
	// questions, also to closed ones. The error matches [ErrConflict] if the lease is not of the last epoch.
	Prune(ctx context.Context, lease Lease) error
}

// errNoPruner says that a store keeps all records.
var errNoPruner = errors.New("the store is not a record.Pruner, and keeps all records")

// Prune has a store forget the records before the last snapshots of the runs of a query, such as those whose last change was a while ago
// ([Query].Before), and returns how many runs it has looked at. They continue and are exported as before; what [Store].Load returns begins
// with the snapshot, so that nobody can tell what was before. A run that a process works on, that has no snapshot or that cannot be read
// stays as it is. Programs that do not know this cannot read a pruned run of a [filestore.Store]: prune when none runs any more.
func Prune(ctx context.Context, store Store, q Query) (n int, err error) {
	pruner, ok := store.(Pruner)
	if !ok {
		return 0, fmt.Errorf("prune runs: %w", errNoPruner)
	}
	var keys []run.Key
	for head, err := range Readable(store.List(ctx, q), nil) {
		if err != nil {
			return 0, fmt.Errorf("prune runs: %w", err)
		}
		if head.Snapshot > 1 {
			keys = append(keys, head.Key)
		}
	}
	for _, key := range keys {
		switch err := pruneRun(ctx, store, pruner, key); {
		case errors.Is(err, ErrHeld), errors.Is(err, ErrNotFound), errors.Is(err, ErrConflict):
		case err != nil:
			return n, fmt.Errorf("prune runs: %w", err)
		default:
			n++
		}
	}
	return n, nil
}

func pruneRun(ctx context.Context, store Store, pruner Pruner, key run.Key) error {
	lease, err := store.Acquire(ctx, key, Holder{Name: "prune", TTL: time.Minute})
	if err != nil {
		return err
	}
	defer func() { _ = store.Release(context.WithoutCancel(ctx), lease) }()
	return pruner.Prune(ctx, lease)
}
