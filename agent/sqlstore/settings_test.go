//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestDatabasesThatLose checks that Open refuses a database that does not keep its commits.
func TestDatabasesThatLose(t *testing.T) {
	for name, c := range map[string]struct {
		job  job
		want string
	}{
		"SQLite in memory":       {job{Driver: "sqlite", DSN: ":memory:"}, `journal mode is "memory"`},
		"no file":                {job{Driver: "sqlite", DSN: t.TempDir()}, "unable to open"},
		"Postgres without syncs": {job{Driver: "pgx", DSN: server.dsn(t) + " synchronous_commit=off"}, "loses the last commits"},
	} {
		t.Run(name, func(t *testing.T) { check.Text(t, check.Err(c.job.store(t.Context(), c.job.connect(t))), c.want) })
	}
}

// TestSyncs checks that commits to SQLite are synced, whatever the DSN says. Leases are not,
// because all holders end with the machine; the connection that wrote one syncs again.
func TestSyncs(t *testing.T) {
	store, db := opened(t, "sqlite", inFile(t)+"?_pragma=synchronous(OFF)")
	db.SetMaxOpenConns(1) // so that the test queries the store's connection
	var d *ledgertest.Draft
	var lease record.Lease
	var first uint64
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"create", func() error { d, lease = create(t, store, key); return nil }},
		{"release", func() error { return store.Release(t.Context(), lease) }},
		{"acquire", func() (err error) {
			first = lease.Epoch
			lease, err = store.Acquire(t.Context(), key, record.Holder{TTL: time.Hour})
			return err
		}},
		{"append", func() error { return d.Append(t.Context(), store, lease, notes("x", 1)...) }},
		{"renew", func() error { return ledgertest.Renew(t.Context(), store, lease, time.Hour) }},
		{"refused", func() error {
			check.Is(t, check.Err(store.Acquire(t.Context(), run.Key{ID: "none"}, record.Holder{TTL: time.Hour})), record.ErrNotFound)
			return nil
		}},
		{"delete", func() error { return store.Delete(t.Context(), key) }},
	} {
		check.Must(t, step.do())
		check.Equal(t, step.name+": synchronous, for the host's own commits", value[int](t, db, "PRAGMA synchronous"), full)
	}
	if lease.Epoch < first+2 { // by the clock, in microseconds
		t.Errorf("got epoch %d after %d, want one that a lost lease cannot have had", lease.Epoch, first)
	}
	check.Equal(t, "journal mode", value[string](t, db, "PRAGMA journal_mode"), "wal")
}

// TestTables lets stores create the tables once, and an older program refuse newer tables.
func TestTables(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		_, db := j.open(t)
		check.Must(t, check.Err(j.store(t.Context(), db)))
		check.Equal(t, "versions", value[int](t, db, "SELECT count(*) FROM mcpchain_schema"), 1)
		execute(t, db, "UPDATE mcpchain_schema SET version = 99")
		_, err := j.store(t.Context(), db)
		check.Text(t, err, "version 99")
		check.Text(t, err, "up to 5")
	})
}

// full is the level of synchronous at which SQLite loses no commit.
const full = 2

func value[T any](t testing.TB, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string, args ...any) (v T) {
	t.Helper()
	check.Must(t, db.QueryRowContext(t.Context(), query, args...).Scan(&v))
	return v
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		check.Require(t, err == nil, "%s: %v", s, err)
	}
}
