package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// How long a store fails.
const (
	fullFor = time.Second
	downFor = 5 // seconds that a Postgres server is down
)

// failOnce calls fail, which makes the store fail for a while, as soon as n runs have begun. end ends the wait for the
// runs, and returns the error of fail, or one that says why the store has not failed.
func failOnce(ctx context.Context, store record.Store, n int, fail func() error) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		for {
			all, ended, err := count(ctx, store)
			switch {
			case err != nil:
				failed <- err
			case ended > 0:
				failed <- errors.New("a run was over before the store failed")
			case all >= n:
				failed <- fail()
			default:
				time.Sleep(10 * time.Millisecond)
				continue
			}
			return
		}
	}()
	return func() error {
		stop()
		return <-failed
	}
}

// openFailing opens the store in SQLite. fill fills its disk, or makes room again.
func (o *options) openFailing(ctx context.Context) (_ record.Store, fill func(full bool) error, err error) {
	db, err := sql.Open("sqlite", filepath.Join(o.Dir, "runs.db"))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1) // max_page_count is a setting of a connection
	store, err := sqlstore.Open(ctx, db, sqlstore.DialectSQLite)
	return store, func(full bool) error {
		pages := 1 << 30
		if full {
			pages = 1 // SQLite uses the present size
		}
		_, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		return err
	}, err
}
