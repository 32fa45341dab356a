//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// TestRenewalsHaveAConnection lets more work wait for a row than there are connections. Leases
// are renewed meanwhile, and a caller that stops waiting takes no connection: neither one of the pool
// nor that of renewals.
func TestRenewalsHaveAConnection(t *testing.T) {
	dsn := server.dsn(t)
	store, db := opened(t, "pgx", dsn, sqlstore.DialectPostgres)
	_, locked := create(t, store, key)
	_, free := create(t, store, run.Key{ID: "free"})
	db.SetMaxOpenConns(3)
	program, err := sql.Open("pgx", dsn)
	check.Must(t, err)
	defer func() { _ = program.Close() }()
	other, err := program.BeginTx(t.Context(), nil)
	check.Must(t, err)
	defer func() { _ = other.Rollback() }()
	var pid int
	check.Must(t, other.QueryRowContext(t.Context(), `SELECT pg_backend_pid() FROM mcpchain_runs WHERE id = $1 FOR UPDATE`, key.ID).Scan(&pid))

	var group sync.WaitGroup
	impatient, stop := context.WithCancel(t.Context())
	for i := range 20 {
		group.Go(func() {
			if i%2 == 0 {
				if err := store.Renew(impatient, locked, time.Minute); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("impatient: %v", err)
				}
			} else if err := store.Renew(t.Context(), locked, time.Minute); err != nil {
				t.Errorf("patient: %v", err)
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
	if lost, err := store.RenewAll(ctx, []record.Lease{free}, time.Minute); err != nil || len(lost) > 0 {
		t.Errorf("got %v, %v, want the lease renewed", lost, err)
	}
	group.Go(func() { check.Fails(t, check.Err(store.RenewAll(impatient, []record.Lease{locked}, time.Minute))) })
	awaitWaiting(3)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	check.Is(t, check.Err(store.RenewAll(short, []record.Lease{free}, time.Minute)), context.DeadlineExceeded, "behind another renewal")
	stop()
	check.Must(t, other.Rollback())
	group.Wait()
	check.NoError(t, check.Err(store.Load(t.Context(), key)))
}
