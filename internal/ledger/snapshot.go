package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
)

// A snapshot is a [Noted] with the state of the run before it, so that a process that takes an old run up reads its
// living part alone. The records before it stay, for those who show what was: [Store].Load returns them. A program that knows no
// snapshots reads past them.

// minSnapshot is how many records have to be behind the last snapshot before another one is made.
const minSnapshot = 128

// SnapshotDue reports whether it is time for a snapshot: as many records have come since the last one as twice the parts of
// the history's messages, and 128 at least, so that snapshots take a part of the room of the records. No question may be open: the
// answers that a store has are all behind a snapshot.
func SnapshotDue(s *State) bool {
	since := s.Seq - s.Snapshot
	return since >= minSnapshot && !s.hasMoreParts(since/2) && len(openAsks(nil, s)) == 0
}

// hasMoreParts reports whether the messages of the history have more than n parts. A message without parts counts as one.
func (s *State) hasMoreParts(n uint64) bool {
	var parts uint64
	for _, m := range s.History {
		if parts += uint64(max(len(m.Parts), 1)); parts > n {
			return true
		}
	}
	return false
}

// NewSnapshot makes the change that keeps a state.
func NewSnapshot(s *State) (*Noted, error) {
	data, err := s.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("keep the state of run %q: %w", s.ID, err)
	}
	return &Noted{Snapshot: data}, nil
}

// snapshotOf is the state in a change, nil if it is not a snapshot.
func snapshotOf(c Change) json.RawMessage {
	if n, ok := c.(*Noted); ok && n != nil {
		return n.Snapshot
	}
	return nil
}

// Begins reports whether the records of a run may begin with that one: the first, or a snapshot if those before were pruned. Of a
// record that is sealed nobody can tell: it may.
func Begins(r run.Record) bool {
	if r.Seq == 1 {
		return true
	}
	change := ChangeOf(r)
	_, sealed := change.(*Sealed)
	return sealed || len(snapshotOf(change)) > 0
}

// restore makes s the state that a snapshot has.
func (s *State) restore(r Entry) error {
	var kept State
	if err := kept.UnmarshalJSON(snapshotOf(r.Change)); err != nil {
		return err
	}
	if kept.Seq+1 != r.Seq {
		return fmt.Errorf("the snapshot in record %d is of record %d", r.Seq, kept.Seq)
	}
	*s = kept
	return nil
}
