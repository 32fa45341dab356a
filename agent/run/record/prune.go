package record

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

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

// Current returns the log without the records before the last snapshot, for implementations of
// [Store.LoadCurrent]. It does not modify l.
func (l *Log) Current() *Log {
	at := slices.IndexFunc(l.Records, func(r run.Record) bool { return r.Seq == l.Head.Snapshot })
	if at <= 0 {
		return l
	}
	return &Log{Head: l.Head, Records: l.Records[at:], Replies: l.Replies}
}
