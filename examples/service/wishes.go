package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// wishes tell the processes that share a database which runs are to stop. A process ends its work on
// such a run, and then the process with the request can end the run.
type wishes struct {
	db       *sql.DB
	numbered bool // parameters are written $1, and not ?
}

func newWishes(ctx context.Context, db *sql.DB, numbered bool) (*wishes, error) {
	w := &wishes{db, numbered}
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS service_stops (tenant TEXT, run TEXT, until BIGINT NOT NULL, PRIMARY KEY (tenant, run))`)
	if err != nil {
		return nil, fmt.Errorf("make the table of stops: %w", err)
	}
	return w, nil
}

// statement writes the parameters of a statement as its database has them.
func (w *wishes) statement(text string) string {
	for n := 1; w.numbered && strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", fmt.Sprint("$", n), 1)
	}
	return text
}

// add wishes that a run stops. The wish is for a minute.
func (w *wishes) add(ctx context.Context, key run.Key) error {
	_, err := w.db.ExecContext(ctx, w.statement(`INSERT INTO service_stops (tenant, run, until) VALUES (?, ?, ?)
		ON CONFLICT (tenant, run) DO UPDATE SET until = excluded.until`), key.Tenant, key.ID, time.Now().Add(wishTaken).Unix())
	return err
}

// all are the runs that are to stop. Old wishes are dropped.
func (w *wishes) all(ctx context.Context) (keys []run.Key, err error) {
	if _, err := w.db.ExecContext(ctx, w.statement(`DELETE FROM service_stops WHERE until < ?`), time.Now().Unix()); err != nil {
		return nil, err
	}
	rows, err := w.db.QueryContext(ctx, `SELECT tenant, run FROM service_stops`)
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
