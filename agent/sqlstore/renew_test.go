//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

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
