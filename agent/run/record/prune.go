package record

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Pruner is a [Store] that can remove the records of a run before its last snapshot.
type Pruner interface {
	// Prune removes the records before Head.Snapshot, none if that is 0. The state of the run
	// and the replies to all questions, closed ones included, stay. The error matches
	// [ErrConflict] if the lease is not the latest.
	Prune(ctx context.Context, lease Lease) error
}

// errNoPruner reports that a store keeps all records.
var errNoPruner = errors.New("store is not a record.Pruner, and keeps all records")

// Prune removes the records before the last snapshot of each run of a query, for example of runs
// whose last change is long ago ([Query.ChangedBefore]), and returns how many runs now begin with it.
// Pruned runs continue and can be exported as before; only their early history is removed:
// [Store.Load] returns the records from the snapshot on. Runs that are held, have no snapshot,
// change meanwhile or cannot be read stay as they are.
func Prune(ctx context.Context, store Store, q Query) (n int, err error) {
	pruner, ok := store.(Pruner)
	if !ok {
		return 0, fmt.Errorf("prune runs: %w", errNoPruner)
	}
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
		err := withHold(ctx, store, "prune", head, func(lease Lease) error { return pruner.Prune(ctx, lease) })
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

// CurrentLoader is a [Store] that can load a run without the records before its last snapshot.
type CurrentLoader interface {
	// LoadCurrent is Load with the records from Head.Snapshot on, or all if that is 0.
	LoadCurrent(ctx context.Context, key run.Key) (*Log, error)
}

// LoadCurrent loads what is needed to continue a run or, with agent.ResultOf, to get its
// result: if the store is a [CurrentLoader], only the records from the last snapshot on. The
// errors come from [Store.Load].
func LoadCurrent(ctx context.Context, store Store, key run.Key) (*Log, error) {
	if s, ok := store.(CurrentLoader); ok {
		return s.LoadCurrent(ctx, key)
	}
	return store.Load(ctx, key)
}

// Current returns the log without the records before the last snapshot, for implementations of
// [CurrentLoader]. It does not modify l.
func (l *Log) Current() *Log {
	at := slices.IndexFunc(l.Records, func(r run.Record) bool { return r.Seq == l.Head.Snapshot })
	if at <= 0 {
		return l
	}
	return &Log{Head: l.Head, Records: l.Records[at:], Replies: l.Replies}
}
