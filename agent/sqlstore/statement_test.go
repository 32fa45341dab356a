//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestCompiledOnce checks that statements are compiled once for each connection, and closed with it.
func TestCompiledOnce(t *testing.T) {
	c := &instrumented{file: inFile(t)}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	var stores []record.Store
	for range 2 { // the second store finds the tables
		before := c.compiled.Load()
		c.fails = "prepare" // as with the lock of another process
		store := check.Value(sqlstore.Open(t.Context(), db, sqlstore.DialectSQLite))(t)
		const statements, version = 25, 1
		n := c.compiled.Load() - before
		check.That(t, len(stores) != 1 || n == statements+version, "%d statements were compiled for a store, want %d", n, statements+version)
		stores = append(stores, store)
	}
	before := c.compiled.Load()
	for i, store := range stores {
		live(t, store, run.Key{ID: fmt.Sprint(i)})
	}
	check.Equal(t, "statements were compiled for runs", c.compiled.Load()-before, 0)
	check.Must(t, db.Close())
	check.Equal(t, "closed statements", c.closed.Load(), c.compiled.Load())
}

// live creates a run, replies, continues it as another holder, and deletes it.
func live(t *testing.T, store record.Store, key run.Key) {
	t.Helper()
	d, lease := create(t, store, key)
	check.Must(t, d.Append(t.Context(), store, lease, ledgertest.Question("a")))
	check.Must(t, store.Renew(t.Context(), lease, time.Minute))
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
	store, db := opened(t, "sqlite", file, sqlstore.DialectSQLite)
	create(t, store, key)
	db.SetMaxIdleConns(0) // so that each connection is new
	other, err := sql.Open("sqlite", file+"?_pragma=locking_mode(EXCLUSIVE)")
	check.Must(t, err)
	other.SetMaxOpenConns(1)
	execute(t, other, "BEGIN IMMEDIATE", "UPDATE mcpchain_schema SET version = version", "COMMIT") // holds its lock
	var direct *sqlite.Error
	if _, err := db.ExecContext(t.Context(), "SELECT * FROM mcpchain_schema"); !errors.As(err, &direct) {
		t.Fatalf("got %v, want the lock of another", err)
	}
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
