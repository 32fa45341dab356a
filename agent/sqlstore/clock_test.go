package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// clockSetBack takes a run whose holder has ended before the clock was set back. The lease of a holder that lives holds.
func clockSetBack(t *testing.T, store *sqlstore.Store) {
	t.Helper()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	set := func(at time.Time) {
		now = at
		store.SetClock(fmt.Sprintf("SELECT %d", at.UnixNano()))
	}
	set(now)
	key := run.Key{ID: "clock"}
	s := new(run.State)
	r := run.Record{Seq: 1, At: now, Change: &run.Begun{V: run.Version, ID: key.ID}}
	if err := run.Apply(s, r); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), run.Holder{TTL: time.Minute}, run.HeadOf(s), []run.Record{r}); err != nil {
		t.Fatal(err)
	}
	due := func() (n int) {
		for h, err := range store.List(t.Context(), run.Query{DueAt: now}) {
			if err != nil {
				t.Fatal(err)
			}
			if h.Key == key && h.Due(now) {
				n++
			}
		}
		return n
	}
	held := func(what string) {
		t.Helper()
		if _, err := store.Acquire(t.Context(), key, run.Holder{TTL: time.Minute}); !errors.Is(err, run.ErrHeld) || due() != 0 {
			t.Errorf("%s: got %v and %d runs that are due, want a run that is held", what, err, due())
		}
	}
	held("taken")
	set(now.Add(-time.Hour))
	if due() != 1 {
		t.Error("the run is not due after the clock was set back")
	}
	lease, err := store.Acquire(t.Context(), key, run.Holder{TTL: time.Minute})
	if err != nil {
		t.Fatalf("after the clock was set back: %v", err)
	}
	held("taken again")
	if err := store.Renew(t.Context(), lease, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	held("renewed")
	if lost, err := store.RenewAll(t.Context(), []run.Lease{lease}, 3*time.Minute); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	held("renewed with others")
}

func TestSQLiteClockSetBack(t *testing.T) {
	store, _ := opened(t, "sqlite", inFile(t), sqlstore.DialectSQLite)
	clockSetBack(t, store)
}

func TestPostgresClockSetBack(t *testing.T) {
	store, _ := opened(t, "pgx", server.dsn(t), sqlstore.DialectPostgres)
	clockSetBack(t, store)
}
