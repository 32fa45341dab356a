package chaos

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

const (
	workerRole       = "worker"
	settingsVariable = "CHAOS_SETTINGS" // the settings of a worker, as JSON
)

// Main is the TestMain of a package whose tests start workers, see [Worker]. work does the work of one.
func Main[Settings any](m *testing.M, work func(context.Context, *Settings) error) {
	testenv.Main(m, map[string]func() int{workerRole: func() int {
		var s Settings
		err := json.Unmarshal([]byte(os.Getenv(settingsVariable)), &s)
		if err == nil {
			err = work(context.Background(), &s)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}})
}

// Worker returns a command that runs this program as a worker with these settings. It is killed at the end of the test.
func Worker(t *testing.T, settings any) *exec.Cmd {
	t.Helper()
	data := check.Value(json.Marshal(settings))(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role(workerRole), settingsVariable+"="+string(data))
	return cmd
}

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
	store, _, err := s.open(ctx)
	return store, err
}

// open also returns the database, nil for files.
func (s Store) open(ctx context.Context) (store record.Store, db *sql.DB, err error) {
	switch s.Kind {
	case "file":
		store, err = filestore.Open(filepath.Join(s.Dir, "runs"), nil)
	case "sqlite":
		if db, err = sql.Open("sqlite", filepath.Join(s.Dir, "runs.db")); err == nil {
			store, err = sqlstore.OpenSQLite(ctx, db)
		}
	case "postgres":
		if db, err = sql.Open("pgx", s.DSN); err == nil {
			db.SetMaxOpenConns(10)
			store, err = sqlstore.OpenPostgres(ctx, db)
		}
	default:
		err = fmt.Errorf("there is no store %q", s.Kind)
	}
	return store, db, err
}
