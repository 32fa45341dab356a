package agent_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// backups open a store, and return how to open a backup of it as it is then.
var backups = map[string]func(*testing.T) (record.Store, func() record.Store){
	"files": func(t *testing.T) (record.Store, func() record.Store) {
		opened := func(dir string) record.Store {
			store, err := filestore.Open(dir, nil)
			check(t, err)
			return store
		}
		dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copied")
		return opened(dir), func() record.Store {
			check(t, os.CopyFS(copied, os.DirFS(dir)))
			check(t, os.Chmod(copied, 0o700))
			return opened(copied)
		}
	},
	"SQLite": func(t *testing.T) (record.Store, func() record.Store) {
		opened := func(file string) (record.Store, *sql.DB) { return openSQL(t, "sqlite", file, sqlstore.DialectSQLite) }
		store, db := opened(filepath.Join(t.TempDir(), "runs.db"))
		return store, func() record.Store {
			copied := filepath.Join(t.TempDir(), "copied.db")
			check(t, errorOf(db.ExecContext(t.Context(), "VACUUM INTO ?", copied)))
			store, _ := opened(copied)
			return store
		}
	},
	"Postgres": func(t *testing.T) (record.Store, func() record.Store) {
		server, err := testenv.StartPostgres()
		if err != nil {
			if os.Getenv("CI") == "" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		store, db := openSQL(t, "pgx", server.DSN("postgres"), sqlstore.DialectPostgres)
		db.SetMaxOpenConns(1) // none is kept for renewals
		return store, func() record.Store {
			db.SetMaxIdleConns(0) // a database that is copied has no users
			admin, err := sql.Open("pgx", server.DSN("template1"))
			check(t, err)
			defer func() { _ = admin.Close() }()
			check(t, errorOf(admin.ExecContext(t.Context(), "CREATE DATABASE copied TEMPLATE postgres")))
			store, _ := openSQL(t, "pgx", server.DSN("copied"), sqlstore.DialectPostgres)
			return store
		}
	},
}

func openSQL(t *testing.T, driver, dsn string, dialect sqlstore.Dialect) (record.Store, *sql.DB) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	store, err := sqlstore.New(t.Context(), db, dialect)
	check(t, err)
	return store, db
}

// TestRestoredBackupAtAServer continues a run, and then a backup of it, with a server that recognizes calls by their keys: no
// effect is doubled.
func TestRestoredBackupAtAServer(t *testing.T) {
	for name, open := range backups {
		t.Run(name, func(t *testing.T) {
			store, backup := open(t)
			var mu sync.Mutex
			effects, again := map[string]int{}, 0
			server := emptyServer()
			server.addTool("write", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				mu.Lock()
				defer mu.Unlock()
				key := fmt.Sprint(r.Params.Meta[adapter.KeyMeta])
				if effects[key] > 0 {
					again++
				} else {
					effects[key]++
				}
				return text("written"), nil
			})
			toolset := openAll(t, nil, adapter.Server{Name: "box", Transport: server.connect(t), KeyInMeta: adapter.KeyMeta})
			twice := uses(toolCall("1", "write", `{}`), toolCall("2", "write", `{}`))
			ctx, cancel := context.WithCancel(t.Context())
			ends := func(ctx context.Context, _ prompt) (*model.Response, error) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			with := func(store record.Store, steps ...step) *agent.Agent {
				return withTools(t, play(steps...), toolset, &agent.Options{Durable: agent.Durable{Store: store}})
			}
			if _, err := with(store, twice, ends).Run(ctx, human("go"), agent.In("one")); err == nil {
				t.Fatal("got no error, want that of the context")
			}
			restored := backup()
			for i, s := range []record.Store{store, restored} {
				got, err := with(s, twice, says("done")).ResumeRun(t.Context(), run.Key{ID: "one"})
				if err != nil || got.Status != run.StatusFinished {
					t.Fatalf("got %v, %v, want the run done", got, err)
				}
				if len(effects) != 4 || again != 2*i {
					t.Errorf("got %d effects and %d calls again, want 4 and %d", len(effects), again, 2*i)
				}
			}
		})
	}
}
