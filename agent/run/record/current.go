package record

import (
	"context"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

// CurrentLoader is a [Store] that can load a run without the records before its last snapshot.
type CurrentLoader interface {
	// LoadCurrent is Load with the records from Head.Snapshot on, all if that is 0.
	LoadCurrent(ctx context.Context, key run.Key) (*Log, error)
}

// LoadCurrent loads a run as it is now: agent.ResultOf makes its result of the records. They begin with the last snapshot, if the
// store is a [CurrentLoader] and the run has one. The errors are those of [Store].Load.
func LoadCurrent(ctx context.Context, store Store, key run.Key) (*Log, error) {
	if s, ok := store.(CurrentLoader); ok {
		return s.LoadCurrent(ctx, key)
	}
	return store.Load(ctx, key)
}

// Current leaves out the records before the last snapshot of a head, for stores. The records are not changed.
func (l *Log) Current() *Log {
	at := slices.IndexFunc(l.Records, func(r run.Record) bool { return r.Seq == l.Head.Snapshot })
	if at <= 0 {
		return l
	}
	return &Log{Head: l.Head, Records: l.Records[at:], Replies: l.Replies}
}
