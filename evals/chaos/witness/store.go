package witness

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// Store says where runs are stored.
type Store struct {
	Kind string // file, sqlite or postgres
	Dir  string // of the files
	DSN  string // of the Postgres database
}

// Open opens the store.
func (s Store) Open(ctx context.Context) (record.Store, error) {
	switch s.Kind {
	case "file":
		return filestore.Open(filepath.Join(s.Dir, "runs"), nil)
	case "sqlite":
		db, err := sql.Open("sqlite", filepath.Join(s.Dir, "runs.db"))
		if err != nil {
			return nil, err
		}
		return sqlstore.New(ctx, db, sqlstore.DialectSQLite)
	case "postgres":
		db, err := sql.Open("pgx", s.DSN)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(10)
		return sqlstore.New(ctx, db, sqlstore.DialectPostgres)
	}
	return nil, fmt.Errorf("there is no store %q; use file, sqlite or postgres", s.Kind)
}
