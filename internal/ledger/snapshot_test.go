package ledger_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// TestSnapshotDue checks that a snapshot waits for a number of records in proportion to its
// size, also if the history has few messages with many calls.
func TestSnapshotDue(t *testing.T) {
	for _, tc := range []struct {
		messages, parts int
		records         uint64
		want            bool
	}{
		{1, 1, 127, false},
		{1, 1, 128, true},
		{100, 1, 199, false},
		{100, 1, 200, true},
		{100, 0, 199, false},
		{2, 100, 399, false},
		{2, 100, 400, true},
	} {
		s := &ledger.State{Seq: 1000 + tc.records, Snapshot: 1000}
		for range tc.messages {
			s.History = append(s.History, run.Message{Parts: make([]run.Part, tc.parts)})
		}
		if got := ledger.SnapshotDue(s); got != tc.want {
			t.Errorf("%d messages of %d parts, %d records: got %v, want %v", tc.messages, tc.parts, tc.records, got, tc.want)
		}
	}
}
