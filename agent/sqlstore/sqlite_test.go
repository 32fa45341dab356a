package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"testing"

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

func TestSQLiteReopen(t *testing.T) {
	file := inFile(t)
	storetest.Reopen(t, func(t *testing.T) (run.Store, func()) {
		store, db := opened(t, "sqlite", file, sqlstore.SQLite)
		return store, func() { _ = db.Close() }
	})
}
