//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
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

// TestRenewalsHaveAConnection lets more work wait for a row than there are connections. Leases are renewed meanwhile,
// and a caller that stops waiting takes no connection: neither one of the pool nor that of renewals.
func TestRenewalsHaveAConnection(t *testing.T) {
	dsn := server.dsn(t)
	store, db := opened(t, "pgx", dsn)
	_, locked := create(t, store, key)
	_, free := create(t, store, run.Key{ID: "free"})
	db.SetMaxOpenConns(3)
	program := check.Value(sql.Open("pgx", dsn))(t)
	defer func() { _ = program.Close() }()
	other := check.Value(program.BeginTx(t.Context(), nil))(t)
	defer func() { _ = other.Rollback() }()
	pid := value[int](t, other, `SELECT pg_backend_pid() FROM mcpchain_runs WHERE id = $1 FOR UPDATE`, key.ID)

	var group sync.WaitGroup
	impatient, stop := context.WithCancel(t.Context())
	for i := range 20 {
		group.Go(func() {
			if i%2 == 1 {
				check.NoError(t, store.Release(t.Context(), locked), "patient")
			} else if err := store.Release(impatient, locked); err != nil {
				check.Is(t, err, context.Canceled, "impatient")
			}
		})
	}
	awaitWaiting := func(n int) {
		for waits := 0; waits < n; {
			check.Must(t, program.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)) OR
				EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_stat_activity.pid AND NOT l.granted)`, pid).Scan(&waits))
		}
	}
	awaitWaiting(2)
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	check.NoError(t, ledgertest.Renew(ctx, store, free, time.Minute))
	group.Go(func() { check.Fails(t, ledgertest.Renew(impatient, store, locked, time.Minute)) })
	awaitWaiting(3)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	check.Is(t, ledgertest.Renew(short, store, free, time.Minute), context.DeadlineExceeded, "behind another renewal")
	stop()
	check.Must(t, other.Rollback())
	group.Wait()
	log := check.Value(store.Load(t.Context(), key))(t)
	check.That(t, log.Head.HeldUntil.IsZero(), "got a run held until %v, want one that stays released after a renewal was given up", log.Head.HeldUntil)
}

// trips counts round trips to a server: writes after a read.
type trips struct {
	net.Conn
	asked   *atomic.Int64
	waiting *atomic.Bool
}

func (c *trips) Write(b []byte) (int, error) {
	if !c.waiting.Swap(true) {
		c.asked.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *trips) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.waiting.Store(false)
	return n, err
}

// TestPostgresAppendIsOneTrip checks that an append is one round trip.
func TestPostgresAppendIsOneTrip(t *testing.T) {
	config := check.Value(pgx.ParseConfig(server.dsn(t)))(t)
	var asked atomic.Int64
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &trips{conn, &asked, new(atomic.Bool)}, nil
	}
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	store := check.Value(sqlstore.OpenPostgres(t.Context(), db))(t)
	d, lease := create(t, store, key)
	for _, n := range []int{1, 3, 8} {
		for try := range 3 {
			before := asked.Load()
			check.Must(t, d.Append(t.Context(), store, lease, notes("x", n)...))
			if got := asked.Load() - before; try > 0 && got != 1 { // pgx prepares a statement at its first use
				t.Errorf("%d records: the server was asked %d times, want once", n, got)
			}
		}
	}
	log, err := store.Load(t.Context(), key)
	check.That(t, err == nil && uint64(len(log.Records)) == d.State.Seq && log.Head.Seq == d.State.Seq,
		"got %d records and a head at %d, %v, want %d", len(log.Records), log.Head.Seq, err, d.State.Seq)
}

// TestPostgresAppendOfAnother lets an append wait for the transaction of another program, which takes the run meanwhile.
func TestPostgresAppendOfAnother(t *testing.T) {
	store, db := inPostgres(t).open(t)
	d, lease := create(t, store, key)
	other := check.Value(db.BeginTx(t.Context(), nil))(t)
	defer func() { _ = other.Rollback() }()
	pid := value[int](t, other, `UPDATE mcpchain_runs SET epoch = epoch + 1 RETURNING pg_backend_pid()`)
	done := make(chan error, 1)
	go func() { done <- d.Append(t.Context(), store, lease, notes("x", 2)...) }()
	for waits := 0; waits == 0; {
		select {
		case err := <-done:
			t.Fatalf("the append did not wait: %v", err)
		default:
		}
		waits = value[int](t, db, `SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`, pid)
	}
	check.Must(t, other.Commit())
	check.Is(t, <-done, record.ErrConflict)
	log, err := store.Load(t.Context(), key)
	check.That(t, err == nil && len(log.Records) == 1 && log.Head.Seq == 1,
		"got %d records and a head at %d, %v, want the run as it was", len(log.Records), log.Head.Seq, err)
}
