//go:build unix

package sqlstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		child(job)
		return
	}
	code := m.Run()
	if server.running != nil {
		server.running.Stop()
	}
	os.Exit(code)
}

// server is the Postgres of the tests, started at the first use.
var server postgres

type postgres struct {
	once    sync.Once
	running *testenv.Postgres
	none    error // why there is no server

	schemas atomic.Int64
}

// dsn starts the server, and returns a DSN with a new schema for each call.
func (p *postgres) dsn(t testing.TB) string {
	t.Helper()
	p.once.Do(func() { p.running, p.none = testenv.StartPostgres() })
	switch {
	case p.none == nil:
	case errors.Is(p.none, testenv.ErrNoPostgres) && os.Getenv("CI") == "":
		t.Skip(p.none)
	default:
		t.Fatal(p.none)
	}
	schema := fmt.Sprintf("s%d", p.schemas.Add(1))
	admin := check.Value(sql.Open("pgx", p.running.DSN("postgres")))(t)
	defer func() { _ = admin.Close() }()
	check.Must(t, check.Err(admin.ExecContext(t.Context(), "CREATE SCHEMA "+schema)))
	return p.running.DSN("postgres") + " search_path=" + schema
}

func TestPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) record.Store { store, _ := inPostgres(t).open(t); return store })
}

func TestPostgresDamage(t *testing.T) {
	storetest.Damage(t, damaged(inPostgres, `UPDATE mcpchain_runs SET head = set_byte(head, 12, 64) WHERE id = $1`))
}

func TestPostgresTenant(t *testing.T) { storetest.Tenant(t, grown(inPostgres)) }

// TestClockSetBack sets back the clock of the machine, or that of the server.
func TestClockSetBack(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		storetest.ClockSetBack(t, func(t *testing.T) (record.Store, func(time.Time)) {
			store, _ := j.open(t)
			return store, func(at time.Time) { sqlstore.SetClock(store, fmt.Sprint("SELECT ", at.UnixNano())) }
		})
	})
}

func TestPostgresReopen(t *testing.T) { storetest.Reopen(t, reopened(inPostgres(t))) }

// TestPostgresInAnotherOrder uses a database with the collation of a language.
func TestPostgresInAnotherOrder(t *testing.T) {
	_, db := inPostgres(t).open(t)
	execute(t, db, `DROP DATABASE IF EXISTS words WITH (FORCE)`, `CREATE DATABASE words TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'`)
	store, _ := opened(t, "pgx", server.running.DSN("words"))
	sqlstore.PageBy(store, 2)
	for _, id := range []string{"a", "B", "C", "b"} {
		create(t, store, run.Key{ID: id})
	}
	check.Equal(t, "order", strings.Join(ids(t, store, record.Query{}), " "), "B C a b")
}

func ids(t *testing.T, store record.Store, q record.Query) (ids []string) {
	t.Helper()
	for head, err := range store.List(t.Context(), q) {
		check.Must(t, err)
		ids = append(ids, head.Key.ID)
	}
	return ids
}

// TestPostgresClock uses a server whose clock is an hour ahead: leases expire by it.
func TestPostgresClock(t *testing.T) {
	store, db := opened(t, "pgx", server.dsn(t)+",pg_catalog")
	execute(t, db, `CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$`)
	d, lease := create(t, store, key)
	check.Must(t, ledgertest.Renew(t.Context(), store, lease, time.Minute))
	log, err := store.Load(t.Context(), key)
	check.Require(t, err == nil && log.Head.HeldUntil.After(time.Now().Add(time.Hour)),
		"got %+v, %v, want a run that is held for more than an hour", log, err)
	check.Is(t, check.Err(store.Acquire(t.Context(), key, record.Holder{})), record.ErrHeld)
	execute(t, db, `DROP FUNCTION clock_timestamp`, `UPDATE mcpchain_runs SET held = held - 3600000000000 - 60000000000`)
	lease = check.Value(store.Acquire(t.Context(), key, record.Holder{}))(t)
	check.Must(t, d.Append(t.Context(), store, lease, notes("x", 1)...))
}

// TestCount compares Count with List.
func TestCount(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		store, _ := j.open(t)
		for i := range 5 {
			create(t, store, run.Key{Tenant: "acme", ID: fmt.Sprint(i)})
		}
		create(t, store, run.Key{Tenant: "other", ID: "0"})
		for _, c := range []struct {
			q    record.Query
			want int
		}{
			{record.Query{AllTenants: true}, 6}, {record.Query{Tenant: "acme"}, 5},
			{record.Query{Tenant: "acme", Status: run.StatusRunning, Limit: 3}, 3},
			{record.Query{AllTenants: true, ID: "0"}, 2}, {record.Query{Tenant: "acme", Status: run.StatusFailed}, 0},
		} {
			check.Equal(t, fmt.Sprintf("%+v", c.q), check.Value(store.Count(t.Context(), c.q))(t), c.want)
		}
	})
}

// TestManyFirstStarts lets processes open the same empty database at once.
func TestManyFirstStarts(t *testing.T) {
	for _, in := range []func(testing.TB) job{inSQLite, inPostgres} {
		for range 5 {
			j := in(t)
			var all sync.WaitGroup
			begin := make(chan struct{})
			for range 8 {
				db := j.connect(t)
				all.Go(func() {
					<-begin
					check.NoError(t, check.Err(j.store(t.Context(), db)))
				})
			}
			close(begin)
			all.Wait()
		}
	}
}

// TestPostgresUpdatesInPlace checks that appends and leases change no index.
func TestPostgresUpdatesInPlace(t *testing.T) {
	store, db := inPostgres(t).open(t)
	db.SetMaxOpenConns(1) // so that it reports its own counts
	d, lease := create(t, store, key)
	const appends = 100
	for range appends {
		check.Must(t, d.Append(t.Context(), store, lease, notes("x", 1)...))
	}
	execute(t, db, `SELECT pg_stat_force_next_flush()`)
	var updates, inPlace int
	err := db.QueryRowContext(t.Context(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'mcpchain_runs'::regclass`).Scan(&updates, &inPlace)
	if err != nil || updates < appends || inPlace*2 < updates { // a transaction of another test may keep old rows, so that the page is full
		t.Errorf("got %d updates, %d of them in place, %v", updates, inPlace, err)
	}
}

// TestMigrationOfLists lists a run that version 3 has created, also after version 3 has continued it.
func TestMigrationOfLists(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		old, db := j.open(t)
		create(t, old, run.Key{ID: "a"})
		create(t, old, run.Key{ID: "b"})
		execute(t, db, `DROP TABLE mcpchain_wishes`, `DROP INDEX mcpchain_runs_by_status`, `DROP INDEX mcpchain_runs_of_tenant_by_status`, `ALTER TABLE mcpchain_runs DROP COLUMN placed`,
			`CREATE INDEX mcpchain_runs_of_tenant ON mcpchain_runs (tenant, updated DESC, id)`,
			`CREATE INDEX mcpchain_runs_of_all ON mcpchain_runs (updated DESC, tenant, id)`,
			`CREATE INDEX mcpchain_runs_running ON mcpchain_runs (num) WHERE status = 'running'`,
			`UPDATE mcpchain_schema SET version = 3`)
		store, _ := j.open(t)
		lists := func(what string, q record.Query, want ...string) {
			t.Helper()
			check.Same(t, what, ids(t, store, q), want)
		}
		lists("all", record.Query{AllTenants: true}, "a", "b")
		execute(t, db, `UPDATE mcpchain_runs SET status = 'waiting', updated = updated + 1 WHERE id = 'b'`)
		lists("after an old program", record.Query{}, "b", "a")
		lists("that wait", record.Query{Status: run.StatusWaiting}, "b")
		lists("that wait, before", record.Query{Status: run.StatusWaiting, ChangedBefore: time.Unix(0, 0)})
		execute(t, db, `UPDATE mcpchain_runs SET status = 'of a later version', updated = updated + 2 WHERE id = 'a'`)
		lists("of any status", record.Query{}, "a", "b")
	})
}

// TestStartsWithoutRights opens existing tables as a user who may not create tables.
func TestStartsWithoutRights(t *testing.T) {
	source := server.dsn(t)
	_, admin := opened(t, "pgx", source)
	schema := value[string](t, admin, `SELECT current_schema()`)
	execute(t, admin, `CREATE USER program`, `GRANT USAGE ON SCHEMA `+schema+` TO program`, `GRANT ALL ON ALL TABLES IN SCHEMA `+schema+` TO program`)
	db := check.Value(sql.Open("pgx", source+" user=program"))(t)
	defer func() { _ = db.Close() }()
	store := check.Value(sqlstore.OpenPostgres(t.Context(), db))(t)
	create(t, store, key)
	check.NoError(t, store.RequestCancel(t.Context(), key))
}
