package witness

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// Store specifies where runs are stored.
type Store struct {
	Kind string // file, sqlite or postgres
	Dir  string // folder of the files
	DSN  string // data source name of the Postgres database; set by Start
}

// Start makes a temporary folder for the files and, for Postgres, starts a server, which is otherwise nil. stop ends the
// server and removes the folder.
func (s *Store) Start() (server *testenv.Postgres, stop func(), err error) {
	if s.Dir, err = os.MkdirTemp("", "chaos"); err != nil {
		return nil, nil, err
	}
	remove := func() { _ = os.RemoveAll(s.Dir) }
	if s.Kind != "postgres" {
		return nil, remove, nil
	}
	if server, err = testenv.StartPostgres(); err != nil {
		remove()
		return nil, nil, err
	}
	s.DSN = server.DSN("postgres")
	stop = func() {
		server.Stop()
		remove()
	}
	return server, stop, nil
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
	return nil, fmt.Errorf("there is no store %q; use file, sqlite or postgres", s.Kind)
}
