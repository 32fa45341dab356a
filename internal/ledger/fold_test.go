package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestFold makes random runs. After each record the state is the same if the records, or the
// state itself, are read from JSON. A fold changes no record.
func TestFold(t *testing.T) {
	kinds := map[string]int{}
	seeds := testenv.Pick[uint64](500, 10_000)
	for seed := range seeds {
		err := foldBothWays(seed, kinds)
		check.Require(t, err == nil, "seed %d: %v", seed, err)
	}
	if testenv.Soak() && len(kinds) != 22 { // fewer seeds may miss a rare one
		t.Errorf("got records of %d kinds, want all 22: %v", len(kinds), kinds)
	}
}

func foldBothWays(seed uint64, kinds map[string]int) error {
	g := newGenerator(seed)
	n := 5 + g.IntN(15)
	if seed%20 == 0 {
		n = 60
	}
	records, written := make([]ledger.Entry, 0, n), make([][]byte, 0, n)
	read := new(ledger.State)
	err := g.run(n, func(live *ledger.State, r ledger.Entry) error {
		data, err := r.MarshalJSON()
		if err != nil {
			return err
		}
		records, written = append(records, r), append(written, data)
		kinds[fmt.Sprintf("%T", r.Change)]++
		if err := ledger.Apply(live, r); err != nil {
			return err
		}
		r = ledger.Entry{}
		if err := r.UnmarshalJSON(data); err != nil {
			return err
		}
		if err := ledger.Apply(read, r); err != nil {
			return fmt.Errorf("as read from JSON: %w", err)
		}
		if err := same(live, read); err != nil {
			return fmt.Errorf("after %s: %w", data, err)
		}
		if g.IntN(4) == 0 {
			read, err = reread(live)
		}
		return err
	})
	if err != nil {
		return err
	}
	folded, err := ledger.Fold(records)
	if err != nil {
		return err
	}
	for i, r := range records {
		if data, err := r.MarshalJSON(); err != nil || !bytes.Equal(data, written[i]) {
			return fmt.Errorf("record %d was changed: got %s, %v, want %s", i+1, data, err, written[i])
		}
	}
	if at := folded.Snapshot; at > 0 {
		current, err := foldLines(bytes.Join(written[at-1:], []byte("\n")))
		if err == nil {
			err = same(folded, current)
		}
		if err != nil {
			return fmt.Errorf("from the snapshot in record %d: %w", at, err)
		}
	}
	return same(folded, read)
}

// TestSnapshot begins a state at its snapshot, and refuses one in another place.
func TestSnapshot(t *testing.T) {
	records := records(everything...)
	s := check.Value(ledger.Fold(records))(t)
	snapshot := check.Value(ledger.NewSnapshot(s))(t)
	r := ledger.Entry{Seq: s.Seq + 1, At: start, Change: snapshot}
	check.Must(t, ledger.Apply(s, r))
	got := check.Value(ledger.Fold([]ledger.Entry{r}))(t)
	err := same(s, got)
	check.That(t, err == nil && got.Snapshot == r.Seq && ledger.HeadOf(got).Snapshot == r.Seq, "got the snapshot %d, want %d: %v", got.Snapshot, r.Seq, err)
	r.Seq++
	check.Text(t, check.Err(ledger.Fold([]ledger.Entry{r})), "is of record", "a snapshot of another place")
	check.Fails(t, check.Err(ledger.Fold([]ledger.Entry{{Seq: 7, Change: &ledger.Noted{Snapshot: []byte(`{"v":1}`)}}})), "no records make it")
}

func same(a, b *ledger.State) error {
	one, err1 := a.MarshalJSON()
	two, err2 := b.MarshalJSON()
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(one, two) {
		return fmt.Errorf("got\n%s, want\n%s, %v", two, one, err)
	}
	return nil
}

// reread returns a state after encoding and decoding.
func reread(s *ledger.State) (*ledger.State, error) {
	data, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	read := new(ledger.State)
	return read, errors.Join(json.Unmarshal(data, read), same(s, read))
}

// TestFoldsShareRecords folds and encodes the same records at once, for the race detector.
func TestFoldsShareRecords(t *testing.T) {
	for seed := range uint64(50) {
		var records []ledger.Entry
		check.Must(t, newGenerator(seed).run(40, func(s *ledger.State, r ledger.Entry) error {
			records = append(records, r)
			return ledger.Apply(s, r)
		}))
		want := check.Value(ledger.Fold(records))(t)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				got, err := ledger.Fold(records)
				check.NoError(t, err)
				check.NoError(t, same(want, got))
			})
		}
		wg.Wait()
	}
}

// TestSnapshotDue checks that a snapshot waits for a number of records in proportion to its
// size, also if the history has few messages with many calls.
func TestSnapshotDue(t *testing.T) {
	for _, tc := range []struct {
		messages, parts int
		records         uint64
		want            bool
	}{
		{1, 1, 127, false}, {1, 1, 128, true}, {100, 1, 199, false}, {100, 1, 200, true}, {100, 0, 199, false},
		{2, 100, 399, false}, {2, 100, 400, true},
	} {
		s := &ledger.State{Seq: 1000 + tc.records, Snapshot: 1000}
		for range tc.messages {
			s.History = append(s.History, run.Message{Parts: make([]run.Part, tc.parts)})
		}
		check.Equal(t, fmt.Sprintf("%+v", tc), ledger.SnapshotDue(s), tc.want)
	}
}
