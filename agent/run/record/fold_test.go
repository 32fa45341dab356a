package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/agent/internal/soak"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// TestFold makes random runs. After each record the state is the same if the records
// come from JSON, and if the state itself does. No record is changed by a fold.
func TestFold(t *testing.T) {
	kinds := map[string]int{}
	seeds := soak.Pick[uint64](500, 10_000)
	for seed := range seeds {
		if err := foldBothWays(seed, kinds); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if soak.Whole() && len(kinds) != 21 { // fewer seeds may miss a rare one
		t.Errorf("got records of %d kinds, want all 21: %v", len(kinds), kinds)
	}
}

func foldBothWays(seed uint64, kinds map[string]int) error {
	g := newGenerator(seed)
	n := 5 + g.IntN(15)
	if seed%20 == 0 {
		n = 60
	}
	records, written := make([]record.Entry, 0, n), make([][]byte, 0, n)
	read := new(record.State)
	err := g.run(n, func(live *record.State, r record.Entry) error {
		data, err := r.MarshalJSON()
		if err != nil {
			return err
		}
		records, written = append(records, r), append(written, data)
		kinds[fmt.Sprintf("%T", r.Change)]++
		if err := record.Apply(live, r); err != nil {
			return err
		}
		r = record.Entry{}
		if err := r.UnmarshalJSON(data); err != nil {
			return err
		}
		if err := record.Apply(read, r); err != nil {
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
	folded, err := record.Fold(records)
	if err != nil {
		return err
	}
	for i, r := range records {
		if data, err := r.MarshalJSON(); err != nil || !bytes.Equal(data, written[i]) {
			return fmt.Errorf("record %d was changed: got %s, %v, want %s", i+1, data, err, written[i])
		}
	}
	if at := folded.Snapshot; at > 0 {
		var behind []record.Entry
		for _, data := range written[at-1:] {
			var r record.Entry
			if err := r.UnmarshalJSON(data); err != nil {
				return err
			}
			behind = append(behind, r)
		}
		current, err := record.Fold(behind)
		if err == nil {
			err = same(folded, current)
		}
		if err != nil {
			return fmt.Errorf("from the snapshot in record %d: %w", at, err)
		}
	}
	return same(folded, read)
}

// TestSnapshot has a state begin at its snapshot, and refuses one of another place.
func TestSnapshot(t *testing.T) {
	records := records(everything...)
	s, err := record.Fold(records)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := record.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	r := record.Entry{Seq: s.Seq + 1, At: start, Change: snapshot}
	if err := record.Apply(s, r); err != nil {
		t.Fatal(err)
	}
	got, err := record.Fold([]record.Entry{r})
	if err != nil {
		t.Fatal(err)
	}
	if err := same(s, got); err != nil || got.Snapshot != r.Seq || record.HeadOf(got).Snapshot != r.Seq {
		t.Errorf("got the snapshot %d, want %d: %v", got.Snapshot, r.Seq, err)
	}
	r.Seq++
	if _, err := record.Fold([]record.Entry{r}); err == nil || !strings.Contains(err.Error(), "is of record") {
		t.Errorf("a snapshot of another place: got %v", err)
	}
	if _, err := record.Fold([]record.Entry{{Seq: 7, Change: &record.Noted{Snapshot: []byte(`{"v":1}`)}}}); err == nil {
		t.Error("a snapshot that no records make: got no error")
	}
}

func same(a, b *record.State) error {
	one, err := a.MarshalJSON()
	if err != nil {
		return err
	}
	two, err := b.MarshalJSON()
	if err != nil {
		return err
	}
	if !bytes.Equal(one, two) {
		return fmt.Errorf("got\n%s, want\n%s", two, one)
	}
	return nil
}

// reread returns a state as it is after JSON.
func reread(s *record.State) (*record.State, error) {
	data, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	read := new(record.State)
	if err := json.Unmarshal(data, read); err != nil {
		return nil, err
	}
	return read, same(s, read)
}

// TestFoldsShareRecords folds and writes the same records at once; the race detector
// finds writes.
func TestFoldsShareRecords(t *testing.T) {
	for seed := range uint64(50) {
		var records []record.Entry
		g := newGenerator(seed)
		if err := g.run(40, func(s *record.State, r record.Entry) error {
			records = append(records, r)
			return record.Apply(s, r)
		}); err != nil {
			t.Fatal(err)
		}
		want, err := record.Fold(records)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				got, err := record.Fold(records)
				if err == nil {
					err = same(want, got)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
