package agent_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// backups open a store, and return how to open a backup of it as it is then.
var backups = map[string]func(*testing.T) (record.Store, func() record.Store){
	"files": func(t *testing.T) (record.Store, func() record.Store) {
		dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copied")
		return filesIn(t, dir), func() record.Store {
			check.Must(t, os.CopyFS(copied, os.DirFS(dir)))
			check.Must(t, os.Chmod(copied, 0o700))
			return filesIn(t, copied)
		}
	},
	"SQLite": func(t *testing.T) (record.Store, func() record.Store) {
		store, db := sqliteIn(t, filepath.Join(t.TempDir(), "runs.db"))
		return store, func() record.Store {
			copied := filepath.Join(t.TempDir(), "copied.db")
			check.Must(t, check.Err(db.ExecContext(t.Context(), "VACUUM INTO ?", copied)))
			store, _ := sqliteIn(t, copied)
			return store
		}
	},
	"Postgres": func(t *testing.T) (record.Store, func() record.Store) {
		server, err := testenv.StartPostgres()
		if errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		check.Must(t, err)
		t.Cleanup(server.Stop)
		store, db := openSQL(t, "pgx", server.DSN("postgres"), sqlstore.OpenPostgres)
		db.SetMaxOpenConns(1) // none is kept for renewals
		return store, func() record.Store {
			db.SetMaxIdleConns(0) // a database that is copied has no users
			admin := check.Value(sql.Open("pgx", server.DSN("template1")))(t)
			defer func() { _ = admin.Close() }()
			check.Must(t, check.Err(admin.ExecContext(t.Context(), "CREATE DATABASE copied TEMPLATE postgres")))
			store, _ := openSQL(t, "pgx", server.DSN("copied"), sqlstore.OpenPostgres)
			return store
		}
	},
}

// sqliteIn is a store in a file, and filesIn one in a directory.
func sqliteIn(t testing.TB, file string) (record.Store, *sql.DB) {
	return openSQL(t, "sqlite", file, sqlstore.OpenSQLite)
}

func filesIn(t testing.TB, dir string) record.Store {
	t.Helper()
	return check.Value(filestore.Open(dir, nil))(t)
}

func openSQL(
	t testing.TB, driver, dsn string, open func(context.Context, *sql.DB) (sqlstore.Store, error),
) (sqlstore.Store, *sql.DB) {
	t.Helper()
	db := check.Value(sql.Open(driver, dsn))(t)
	t.Cleanup(func() { _ = db.Close() })
	return check.Value(open(t.Context(), db))(t), db
}

// keyedServer is a server that honours keys: it counts the calls of each.
type keyedServer struct {
	toolset *adapter.Toolset

	mu      sync.Mutex // guards the following field
	effects map[string]int
}

func newKeyedServer(t *testing.T) *keyedServer {
	k, s := &keyedServer{effects: map[string]int{}}, emptyServer()
	s.addTool("write", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.effects[fmt.Sprint(r.Params.Meta[adapter.IdempotencyKeyMeta])]++
		return text("written"), nil
	})
	k.toolset = openAll(t, nil, adapter.Server{Name: "box", Transport: s.connect(t), KeyInMeta: adapter.IdempotencyKeyMeta})
	return k
}

// Steps of the agents of such a server.
var (
	twice = uses(toolCall("1", "write", `{"N":1}`), toolCall("2", "write", `{"N":1}`))
	helps = uses(toolCall("h", "helper", `{"task":"help"}`))
)

// agent is an agent with a sub-agent. Both make calls of the server.
func (k *keyedServer) agent(t *testing.T, store record.Store, steps ...step) *agent.Agent {
	t.Helper()
	tools := []adapter.Source{k.toolset}
	helper := newAgent(t, play(twice, says("helped")), &agent.Options{Tools: tools})
	return boss(t, play(steps...), sub(t, helper, agent.NewSubAgent), agent.Options{Durable: agent.Durable{Store: store}, Tools: tools})
}

// A backup is taken while the model is asked for the second time. The run continues to its end; then the backup is
// restored and continued: each call has the key that it had, and no effect is doubled.
func TestRestoredBackup(t *testing.T) {
	for name, open := range backups {
		t.Run(name, func(t *testing.T) {
			store, backup := open(t)
			k := newKeyedServer(t)
			ctx, cancel := context.WithCancel(t.Context())
			ends := func(ctx context.Context, _ prompt) (*model.Response, error) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			check.Fails(t, check.Err(k.agent(t, store, twice, ends).Run(ctx, human("go"), agent.WithRun(theRun.ID))))
			restored, again := backup(), 0
			resumed(t, k.agent(t, store, helps, twice, says("done")))
			first := maps.Clone(k.effects)
			resumed(t, k.agent(t, restored, helps, twice, says("done")))
			check.Same(t, "keys", slices.Sorted(maps.Keys(k.effects)), slices.Sorted(maps.Keys(first)))
			for _, n := range k.effects {
				again += n - 1
			}
			check.Same(t, "keys, and calls again after the backup", []int{len(first), again}, []int{6, 4})
		})
	}
}

// A run that is deleted and begun again under its name has other keys, and so has another tenant's.
func TestKeysOfANewRun(t *testing.T) {
	store, k := record.NewMemory(), newKeyedServer(t)
	for _, tenant := range []string{"", "", "acme"} {
		mustRun(t, k.agent(t, store, twice, helps, twice, says("done")), human("go"), agent.WithRun("one"), agent.WithTenant(tenant))
		check.Must(t, store.Delete(t.Context(), run.Key{Tenant: tenant, ID: "one"}))
	}
	check.Same(t, "keys, each once", []int{len(k.effects), slices.Max(slices.Collect(maps.Values(k.effects)))}, []int{18, 1})
}
