package sqlstore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/agent/storetest"
)

// opened is a store in a database that the test closes.
func opened(t testing.TB, driver, dsn string, dialect sqlstore.Dialect) (*sqlstore.Store, *sql.DB) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(8)
	store, err := sqlstore.New(t.Context(), db, dialect)
	if err != nil {
		t.Fatal(err)
	}
	return store, db
}

func inFile(t testing.TB) string { return filepath.Join(t.TempDir(), "runs.db") }

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) run.Store {
		store, _ := opened(t, "sqlite", inFile(t), sqlstore.SQLite)
		return store
	})
}

// TestSQLiteOfOneConnection has no method wait for a connection that its caller holds,
// and lists of many pages.
func TestSQLiteOfOneConnection(t *testing.T) {
	storetest.Run(t, func(t *testing.T) run.Store {
		store, db := opened(t, "sqlite", inFile(t), sqlstore.SQLite)
		db.SetMaxOpenConns(1)
		store.PageBy(2)
		return store
	})
}

// damaged opens stores with a way to change the head of a run.
func damaged(open func(t *testing.T) (*sqlstore.Store, *sql.DB), statement string) func(t *testing.T) (run.Store, func(run.Key)) {
	return func(t *testing.T) (run.Store, func(run.Key)) {
		store, db := open(t)
		store.PageBy(2)
		return store, func(key run.Key) {
			if r, err := db.ExecContext(t.Context(), statement, key.ID); err != nil {
				t.Fatal(err)
			} else if n, err := r.RowsAffected(); n != 1 || err != nil {
				t.Fatalf("%d rows were changed, %v", n, err)
			}
		}
	}
}

func TestSQLiteDamage(t *testing.T) {
	open := func(t *testing.T) (*sqlstore.Store, *sql.DB) { return opened(t, "sqlite", inFile(t), sqlstore.SQLite) }
	for name, statement := range map[string]string{
		"cut":     `UPDATE mcpchain_runs SET head = substr(head, 1, length(head) - 1) WHERE id = ?`,
		"changed": `UPDATE mcpchain_runs SET head = CAST(replace(CAST(head AS TEXT), '"asks":["a"]', '"asks":["b"]') AS BLOB) WHERE id = ?`,
		"empty":   `UPDATE mcpchain_runs SET head = x'' WHERE id = ?`,
	} {
		t.Run(name, func(t *testing.T) { storetest.Damage(t, damaged(open, statement)) })
	}
}

func TestSQLiteReopen(t *testing.T) {
	file := inFile(t)
	storetest.Reopen(t, func(t *testing.T) (run.Store, func()) {
		store, db := opened(t, "sqlite", file, sqlstore.SQLite)
		return store, func() { _ = db.Close() }
	})
}

// A run of a deleted run's key has another epoch, also while the clock stands still. In the bubble it does.
func TestCreateWhileTheClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := opened(t, "sqlite", filepath.Join(t.TempDir(), "runs.db"), sqlstore.SQLite)
		key := run.Key{ID: "r"}
		d, first := create(t, store, key)
		if err := store.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if _, second := create(t, store, key); second.Epoch <= first.Epoch {
			t.Errorf("got the epoch %d after %d", second.Epoch, first.Epoch)
		}
		if err := d.append(t.Context(), store, first, "late", 1); !errors.Is(err, run.ErrConflict) {
			t.Errorf("got %v for the holder of the deleted run, want %v", err, run.ErrConflict)
		}
	})
}
