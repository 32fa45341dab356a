package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// Store specifies where runs are stored.
type Store struct {
	Kind string // file, sqlite or postgres
	Dir  string // folder of the files
	DSN  string // data source name of the Postgres database
}

// NewStore returns an empty store of a kind. For Postgres it starts a server, which is otherwise nil.
func NewStore(t *testing.T, kind string) (s Store, server *testenv.Postgres) {
	t.Helper()
	s = Store{Kind: kind, Dir: t.TempDir()}
	if kind != "postgres" {
		return s, nil
	}
	server, err := testenv.StartPostgres()
	if errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	check.Must(t, err)
	t.Cleanup(server.Stop)
	s.DSN = server.DSN("postgres")
	return s, server
}

// Open opens the store, in any number of processes.
func (s Store) Open(ctx context.Context) (record.Store, error) {
	switch s.Kind {
	case "file":
		return filestore.Open(filepath.Join(s.Dir, "runs"), nil)
	case "sqlite":
		db, err := sql.Open("sqlite", filepath.Join(s.Dir, "runs.db"))
		if err != nil {
			return nil, err
		}
		return sqlstore.OpenSQLite(ctx, db)
	case "postgres":
		db, err := sql.Open("pgx", s.DSN)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(10)
		return sqlstore.OpenPostgres(ctx, db)
	}
	return nil, fmt.Errorf("there is no store %q", s.Kind)
}
