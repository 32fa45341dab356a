package agent_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

var errAway = errors.New("connection refused")

// away is a store whose server cannot be reached while gone is true.
func away(store record.Store) (s *watched, gone *atomic.Bool) {
	gone = new(atomic.Bool)
	return watch(store, func(c *storeCall) error {
		if gone.Load() {
			return errAway
		}
		return c.Do()
	}), gone
}

// A result that comes while the store is away for longer than the lease is stored afterwards, unless another process has the run.
func TestResultDuringAnOutage(t *testing.T) {
	for name, tt := range map[string]struct {
		taken bool
		want  string
	}{"not taken over": {want: "done"}, "taken over": {taken: true, want: "unknown whether the call ran"}} {
		synctestRun(t, name, func(t *testing.T) {
			memory := record.NewMemory()
			store, gone := away(memory)
			a := slowAgent(t, store, 3*time.Second) // with leases of 6 s
			begun(t, a, agent.WithRun(theRun.ID))
			defer recovering(t, store, a, nil)()
			time.Sleep(2 * time.Second)
			gone.Store(true)
			time.Sleep(14 * time.Second)
			if tt.taken {
				check.Must(t, check.Err(memory.Acquire(t.Context(), theRun, record.Holder{TTL: time.Second})))
			}
			gone.Store(false)
			time.Sleep(2 * time.Minute)
			check.Equal(t, "status", load(t, memory, theRun).Head.Status, run.StatusFinished)
			check.Contains(t, "what the model reads", stateOf(t, memory, theRun).History[2].Parts[0].Text, tt.want)
		})
	}
}

// The host does not wait for a store that is away when it stops.
func TestStopDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gone := away(record.NewMemory())
		a := slowAgent(t, store, 3*time.Second)
		ctx, stop := context.WithCancel(t.Context())
		ended := begin(ctx, a)
		time.Sleep(2 * time.Second)
		gone.Store(true)
		time.Sleep(14 * time.Second) // longer than the lease
		stop()
		began := time.Now()
		check.Fails(t, (<-ended).err)
		within(t, "the time for last writes", time.Since(began), 0, 6*time.Second)
	})
}

// An append that was stored although its context ended is not a conflict: what is known afterwards is stored, too.
func TestCancelledAppendThatWasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, appends := record.NewMemory(), 0
		store := watch(memory, func(c *storeCall) error {
			err := c.Do()
			if c.Method == "append" {
				if appends++; appends == 3 { // it does not say that it is stored before its context ends
					<-c.Ctx.Done()
					return c.Ctx.Err()
				}
			}
			return err
		})
		first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`), sleep("2", 1))), agent.Options{ParallelWrites: true})
		killed(t, first, 5*time.Second, agent.WithRun(theRun.ID))
		check.Equal(t, "outcomes", len(changesOf[*ledger.Outcome](load(t, memory, theRun).Records)), 2)
	})
}

// Recover names the runs of processes that have died.
func TestRecoverLogsTakeovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		first, _ := process(t, store, play(uses(sleep("1", 60))), agent.Options{})
		killed(t, first, time.Second, agent.WithRun(theRun.ID), agent.WithTenant("ann"))
		second, _ := process(t, store, play(says("done")), agent.Options{})
		var log bytes.Buffer
		opts := &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		check.Must(t, agent.Recover(t.Context(), store, []*agent.Agent{second}, opts))
		check.Contains(t, "log", log.String(), fmt.Sprintf(`level=INFO msg="a run was taken over" run=%s tenant=ann turn=1 calls=1`, theRun.ID))
		check.Equal(t, "takeovers in the log", strings.Count(log.String(), "taken over"), 1)
	})
}

// A run that another process ends between the list of due runs and their start is not reported again.
func TestRecoverPassesOverEndedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var listed run.Head
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "list" {
				c.Heads = func(yield func(run.Head, error) bool) { yield(listed, nil) }
				return nil
			}
			return c.Do()
		})
		a, _ := process(t, store, play(says("done")), agent.Options{})
		begun(t, a, agent.WithRun(theRun.ID))
		listed = load(t, store, theRun).Head
		resumed(t, a)
		recovers(t, store, a, 3*time.Second, &agent.RecoverOptions{
			OnEvent: func(_ run.Key, e agent.Event) { t.Errorf("got the event %T", e) },
			OnEnd:   func(_ run.Key, r *agent.Result, err error) { t.Errorf("got the end %s, %v", r.Status, err) },
		})
	})
}

// A store that panics when a run is released does not end the program.
func TestReleasePanics(t *testing.T) {
	store := watch(record.NewMemory(), func(c *storeCall) error {
		if c.Method == "release" {
			panic("released twice")
		}
		return c.Do()
	})
	a, _ := process(t, store, play(says("done")), agent.Options{})
	answers(t, a, "done", agent.WithRun(theRun.ID))
}

// A store that fails for a while loses no outcome that the process knows, also if it has kept it and
// could not say so. What it refuses for good ends the work; the result has the status of the store.
func TestStoreThatFails(t *testing.T) {
	down := errors.New("the connection is lost")
	for name, test := range map[string]struct {
		fail func(n int) (error, bool)
		ok   bool
	}{
		"once":              {func(n int) (error, bool) { return map[bool]error{true: down}[n == 0], false }, true},
		"once, kept":        {func(n int) (error, bool) { return map[bool]error{true: down}[n == 0], true }, true},
		"for ten seconds":   {func(n int) (error, bool) { return map[bool]error{true: down}[n < 10], false }, true},
		"for good":          {func(int) (error, bool) { return down, false }, false},
		"panics":            {func(int) (error, bool) { panic("disk gone") }, false},
		"too large":         {func(int) (error, bool) { return record.ErrTooLarge, false }, false},
		"held by another":   {func(int) (error, bool) { return record.ErrConflict, false }, false},
		"a deadline of its": {func(n int) (error, bool) { return map[bool]error{true: context.DeadlineExceeded}[n == 0], false }, true},
	} {
		for kind, open := range everyStore {
			synctestRun(t, name+" in "+kind, func(t *testing.T) {
				failures := 0
				store := watch(open(t), func(c *storeCall) error {
					if c.Method != "append" || failures == 0 && len(changesOf[*ledger.Outcome](c.Records)) == 0 {
						return c.Do()
					}
					err, kept := test.fail(failures)
					failures++
					if err == nil || kept {
						err = errors.Join(err, c.Do())
					}
					return err
				})
				a, _ := process(t, store, play(uses(sleep("1", 1)), says("done")), agent.Options{})
				began := time.Now()
				got, err := a.Run(t.Context(), human("go"), agent.WithRun("r"))
				within(t, "took", time.Since(began), 0, 70*time.Second)
				status := load(t, store, theRun).Head.Status
				if test.ok {
					check.Same(t, "end", []any{err, got.Status, status}, []any{nil, run.StatusFinished, run.StatusFinished})
					return
				}
				check.Same(t, "error, and what the store has", []any{err != nil, got.Status, status, got.Output},
					[]any{true, run.StatusRunning, run.StatusRunning, ""})
				said, _, _ := strings.Cut(err.Error(), "\n")
				check.Equal(t, "how often the error says "+said, strings.Count(err.Error(), said), 1)
				synctest.Wait()
			})
		}
	}
}

// A store with a function around its methods, see [ledgertest.Watch].
type watched = ledgertest.Watched
type storeCall = ledgertest.Call

var watch = ledgertest.Watch

func changesOf[C ledger.Change](records []run.Record) (all []C) {
	for _, r := range records {
		if c, ok := ledger.ChangeOf(r).(C); ok {
			all = append(all, c)
		}
	}
	return all
}

// Errors that do not pass: nothing is tried again.
var errDead = fmt.Errorf("the process has died: %w", record.ErrTooLarge)
var errFull = fmt.Errorf("disk full: %w", record.ErrTooLarge)

// dying is the store of a process that dies at a write, before or after it.
type dying struct {
	watched
	at   int                         // number of the write; 0: it lives
	keep bool                        // the write is kept
	die  func(context.Context) error // at that write and at later ones; nil: the error is errDead

	writes atomic.Int64
}

// in has the process write to a store.
func (d *dying) in(store record.Store) *dying {
	d.watched = *watch(store, d.write)
	return d
}

func (d *dying) write(c *storeCall) error {
	n := int(d.writes.Load())
	switch c.Method {
	case "create", "append", "reply", "put":
		n = int(d.writes.Add(1))
		if n == d.at && d.keep {
			_ = c.Do() // nobody learns of it
		}
	case "release":
		if d.die != nil {
			return c.Do()
		}
	default:
		return c.Do()
	}
	switch {
	case d.at == 0 || n < d.at:
		return c.Do()
	case d.die != nil:
		return d.die(c.Ctx)
	}
	return errDead
}

// survives is a run whose first process dies, perhaps. process makes the agents of both: the next one by what the store has.
func survives(t *testing.T, store record.Store, first *dying, process func(record.Store, *record.Log) *agent.Agent) *agent.Result {
	t.Helper()
	got, err := process(first.in(store), nil).Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
	check.Require(t, errors.Is(err, errDead) == (first.at > 0), "the first process: got %v", err)
	if first.at == 0 {
		check.Must(t, err)
		return got
	}
	log, err := store.Load(t.Context(), theRun)
	if errors.Is(err, record.ErrNotFound) {
		return mustRun(t, process(store, nil), human("go"), agent.WithRun(theRun.ID))
	}
	check.Must(t, err)
	check.Must(t, store.Release(t.Context(), record.Lease{Key: theRun, Epoch: log.Head.Epoch}))
	if log.Head.Status.Ended() {
		return got
	}
	return resumed(t, process(store, log))
}

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
var twice = uses(toolCall("1", "write", `{"N":1}`), toolCall("2", "write", `{"N":1}`))
var helps = uses(toolCall("h", "helper", `{"task":"help"}`))

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
