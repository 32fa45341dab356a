package record

import (
	"context"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

// CurrentLoader is a [Store] that can load a run without the records before its last snapshot.
type CurrentLoader interface {
	// LoadCurrent is Load with the records from Head.Snapshot on, or all if that is 0.
	LoadCurrent(ctx context.Context, key run.Key) (*Log, error)
}

// LoadCurrent loads what is needed to continue a run or, with agent.ResultOf, to get its
// result: if the store is a [CurrentLoader], only the records from the last snapshot on. The
// errors are those of [Store].Load.
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
