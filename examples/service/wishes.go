package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// wishes tell the processes that share a database which runs are to stop. A process ends its work on
// such a run, and then the process with the request can end the run. They go by the clock of the database.
type wishes struct {
	db    *sql.DB
	clock string // the time of the database, in seconds
}

// The clocks of databases.
const (
	postgresClock = `extract(epoch FROM clock_timestamp())::bigint`
	sqliteClock   = `CAST(strftime('%s', 'now') AS INTEGER)`
)

// stopsLock is any number, the same for all processes.
const stopsLock = 7021865414269

// newWishes makes the table, unless it is there. Processes that start at the same time make it one after the other:
// in Postgres, IF NOT EXISTS alone fails if another one makes it meanwhile.
func newWishes(ctx context.Context, db *sql.DB, dialect sqlstore.Dialect) (*wishes, error) {
	w := &wishes{db, sqliteClock}
	if dialect == sqlstore.DialectPostgres {
		w.clock = postgresClock
	}
	if _, err := w.all(ctx); err == nil {
		return w, nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("make the table of stops: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if dialect == sqlstore.DialectPostgres {
		_, err = tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, stopsLock)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS service_stops (tenant TEXT, run TEXT, until BIGINT NOT NULL, PRIMARY KEY (tenant, run))`)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return nil, fmt.Errorf("make the table of stops: %w", err)
	}
	return w, nil
}

// add wishes that a run stops. If no drop comes, because this process has ended, the wish ends by itself.
func (w *wishes) add(ctx context.Context, key run.Key) error {
	_, err := w.db.ExecContext(ctx, `INSERT INTO service_stops (tenant, run, until) VALUES ($1, $2, `+w.clock+` + $3)
		ON CONFLICT (tenant, run) DO UPDATE SET until = excluded.until`, key.Tenant, key.ID, int(stopWait.Seconds()))
	return err
}

// drop takes a wish back.
func (w *wishes) drop(ctx context.Context, key run.Key) error {
	_, err := w.db.ExecContext(ctx, `DELETE FROM service_stops WHERE tenant = $1 AND run = $2 OR until < `+w.clock, key.Tenant, key.ID)
	return err
}

// all are the runs that are to stop.
func (w *wishes) all(ctx context.Context) (keys []run.Key, err error) {
	rows, err := w.db.QueryContext(ctx, `SELECT tenant, run FROM service_stops WHERE until >= `+w.clock)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key run.Key
		if err := rows.Scan(&key.Tenant, &key.ID); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

// listen interrupts the work on runs that are to stop, until the context ends.
func (w *wishes) listen(ctx context.Context, interrupt func(run.Key) <-chan struct{}, logger *slog.Logger) {
	for {
		keys, err := w.all(ctx)
		if err != nil && ctx.Err() == nil {
			logger.Warn("the runs that are to stop cannot be read", "error", err)
		}
		for _, key := range keys {
			interrupt(key)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(poll):
		}
	}
}
