//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// live creates a run, replies, continues it as another holder, and deletes it.
func live(t *testing.T, store record.Store, key run.Key) {
	t.Helper()
	d, lease := create(t, store, key)
	check.Must(t, d.Append(t.Context(), store, lease, ledgertest.Question("a")))
	check.Must(t, ledgertest.Renew(t.Context(), store, lease, time.Minute))
	check.Must(t, store.Release(t.Context(), lease))
	check.Must(t, store.Reply(t.Context(), key, []run.Reply{{Question: "a", Action: run.ActionDecline}}))
	lease = check.Value(store.Acquire(t.Context(), key, record.Holder{TTL: time.Minute}))(t)
	check.Must(t, check.Err(store.Load(t.Context(), key)))
	check.Must(t, d.Append(t.Context(), store, lease, notes("x", 8)...))
	check.Must(t, store.Delete(t.Context(), key))
}

// TestLoadWaits checks that a new connection waits for a lock.
func TestLoadWaits(t *testing.T) {
	file := inFile(t)
	store, db := opened(t, "sqlite", file)
	create(t, store, key)
	db.SetMaxIdleConns(0) // so that each connection is new
	other := check.Value(sql.Open("sqlite", file+"?_pragma=locking_mode(EXCLUSIVE)"))(t)
	other.SetMaxOpenConns(1)
	execute(t, other, "BEGIN IMMEDIATE", "UPDATE mcpchain_schema SET version = version", "COMMIT") // holds its lock
	var direct *sqlite.Error
	_, err := db.ExecContext(t.Context(), "SELECT * FROM mcpchain_schema")
	check.Require(t, errors.As(err, &direct), "got %v, want the lock of another", err)
	released := time.AfterFunc(50*time.Millisecond, func() { _ = other.Close() })
	defer released.Stop()
	check.NoError(t, check.Err(store.Load(t.Context(), key)))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(store.Load(ended, key)), context.Canceled, "an ended context")
}

// TestManyRecords appends more records at once than a statement has parameters for.
func TestManyRecords(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		store, _ := j.open(t)
		d, lease := create(t, store, key)
		for _, n := range []int{1, 8, 9, 1000, 17_000} {
			check.Must(t, d.Append(t.Context(), store, lease, notes("x", n)...))
		}
		check.Equal(t, "records", uint64(len(check.Value(store.Load(t.Context(), key))(t).Records)), d.State.Seq)
	})
}
