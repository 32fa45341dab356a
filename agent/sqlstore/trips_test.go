//go:build unix

package sqlstore_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
)

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
	config, err := pgx.ParseConfig(server.dsn(t))
	check.Must(t, err)
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
	store, err := sqlstore.Open(t.Context(), db, sqlstore.DialectPostgres)
	check.Must(t, err)
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
	if err != nil || uint64(len(log.Records)) != d.State.Seq || log.Head.Seq != d.State.Seq {
		t.Errorf("got %d records and a head at %d, %v, want %d", len(log.Records), log.Head.Seq, err, d.State.Seq)
	}
}

// TestPostgresAppendOfAnother lets an append wait for the transaction of another program, which
// takes the run meanwhile.
func TestPostgresAppendOfAnother(t *testing.T) {
	store, db := inPostgres(t).open(t)
	d, lease := create(t, store, key)
	other, err := db.BeginTx(t.Context(), nil)
	check.Must(t, err)
	defer func() { _ = other.Rollback() }()
	var pid int
	check.Must(t, other.QueryRowContext(t.Context(), `UPDATE mcpchain_runs SET epoch = epoch + 1 RETURNING pg_backend_pid()`).Scan(&pid))
	done := make(chan error, 1)
	go func() { done <- d.Append(t.Context(), store, lease, notes("x", 2)...) }()
	for waits := 0; waits == 0; {
		select {
		case err := <-done:
			t.Fatalf("the append did not wait: %v", err)
		default:
		}
		check.Must(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))`, pid).Scan(&waits))
	}
	check.Must(t, other.Commit())
	check.Is(t, <-done, record.ErrConflict)
	log, err := store.Load(t.Context(), key)
	if err != nil || len(log.Records) != 1 || log.Head.Seq != 1 {
		t.Errorf("got %d records and a head at %d, %v, want the run as it was", len(log.Records), log.Head.Seq, err)
	}
}
