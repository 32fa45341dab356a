package filestore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
)

// TestClockSetBack takes a run whose holder has ended before the clock was set back. The lease of a holder that lives holds.
func TestClockSetBack(t *testing.T) {
	store, err := filestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	store.SetClock(func() time.Time { return now })
	key := run.Key{ID: "r"}
	s := new(run.State)
	r := run.Record{Seq: 1, At: now, Change: &run.Begun{V: run.Version, ID: key.ID}}
	if err := run.Apply(s, r); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), run.Holder{TTL: time.Minute}, run.HeadOf(s), []run.Record{r}); err != nil {
		t.Fatal(err)
	}
	due := func() (n int) {
		for _, err := range store.List(t.Context(), run.Query{DueAt: now}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if _, err := store.Acquire(t.Context(), key, run.Holder{TTL: time.Minute}); !errors.Is(err, run.ErrHeld) || due() != 0 {
		t.Errorf("got %v and %d runs that are due, want a run that is held", err, due())
	}
	now = now.Add(-time.Hour)
	if due() != 1 {
		t.Error("the run is not due after the clock was set back")
	}
	lease, err := store.Acquire(t.Context(), key, run.Holder{TTL: time.Minute})
	if err != nil {
		t.Fatalf("after the clock was set back: %v", err)
	}
	if _, err := store.Acquire(t.Context(), key, run.Holder{TTL: time.Minute}); !errors.Is(err, run.ErrHeld) {
		t.Errorf("got %v, want a run that is held", err)
	}
	if err := store.Renew(t.Context(), lease, 2*time.Minute); err != nil || due() != 0 {
		t.Errorf("got %v and %d runs that are due, want a run that is held", err, due())
	}
}
