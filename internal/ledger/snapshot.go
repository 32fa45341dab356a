package ledger

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

// A snapshot is a [Noted] with the state of the run before it. A process that takes over an
// old run reads only the records from the last snapshot on. Load of a store still returns the
// earlier ones. Programs that do not know snapshots ignore them.

// minSnapshot is the fewest records between two snapshots.
const minSnapshot = 128

// SnapshotDue reports whether it is time for a snapshot: since the last one at least 128
// records were added, and at least twice as many as the history has parts, so that snapshots
// stay a fraction of all records. No question may be open, because the replies that a store
// keeps must all precede a snapshot.
func SnapshotDue(s *State) bool {
	since := s.Seq - s.Snapshot
	return since >= minSnapshot && !s.hasMoreParts(since/2) && len(Open(s)) == 0
}

// hasMoreParts reports whether the history has more than n parts. A message without parts
// counts as one.
func (s *State) hasMoreParts(n uint64) bool {
	var parts uint64
	for _, m := range s.History {
		parts += uint64(max(len(m.Parts), 1))
		if parts > n {
			return true
		}
	}
	return false
}

// NewSnapshot returns the change that stores a state.
func NewSnapshot(s *State) (*Noted, error) {
	data, err := s.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("keep the state of run %q: %w", s.ID, err)
	}
	return &Noted{Snapshot: data}, nil
}

// snapshotState returns the state in a change, or nil if it is not a snapshot.
func snapshotState(c Change) json.RawMessage {
	if n, ok := c.(*Noted); ok {
		return n.Snapshot
	}
	return nil
}

// Current returns the records of a run from its last snapshot on, all if there is none.
func Current(head run.Head, records []run.Record) []run.Record {
	at := slices.IndexFunc(records, func(r run.Record) bool { return r.Seq == head.Snapshot })
	return records[max(at, 0):]
}

// Begins reports whether r may be the first record of a run: number 1, or a snapshot if earlier
// records were pruned. An encrypted record may be either, so the answer is true.
func Begins(r run.Record) bool {
	if r.Seq == 1 {
		return true
	}
	change := ChangeOf(r)
	_, isSealed := change.(*Sealed)
	return isSealed || len(snapshotState(change)) > 0
}

func (s *State) restore(r Entry) error {
	var stored State
	if err := stored.UnmarshalJSON(snapshotState(r.Change)); err != nil {
		return err
	}
	if stored.Seq+1 != r.Seq {
		return fmt.Errorf("snapshot in record %d is of record %d", r.Seq, stored.Seq)
	}
	*s = stored
	return nil
}
