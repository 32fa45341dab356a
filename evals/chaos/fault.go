package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
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

// openFailing opens a store of files or in SQLite. fill fills its disk, or makes room again.
func (o *options) openFailing(ctx context.Context) (_ record.Store, fill func(full bool) error, err error) {
	if o.Kind == "file" {
		files, err := filestore.Open(filepath.Join(o.Dir, "runs"), nil)
		store := &fullStore{Store: files}
		return store, func(full bool) error { store.full.Store(full); return nil }, err
	}
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

// fullStore is a store of files whose disk can be full. Then each change fails, and every second one is
// made nevertheless: after such an error it is unknown whether a change was made.
type fullStore struct {
	record.Store
	full    atomic.Bool
	changes atomic.Int64
}

// change makes a change, unless the disk is full.
func (s *fullStore) change(do func() error) error {
	if !s.full.Load() {
		return do()
	}
	if s.changes.Add(1)%2 == 0 {
		if err := do(); err != nil {
			return err
		}
	}
	return &fs.PathError{Op: "write", Path: "runs", Err: syscall.ENOSPC}
}

func (s *fullStore) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	return s.change(func() error { return s.Store.Append(ctx, l, head, records, replies...) })
}

func (s *fullStore) Renew(ctx context.Context, leases []record.Lease, ttl time.Duration) []error {
	errs := make([]error, len(leases))
	for i := range leases {
		errs[i] = s.change(func() error { return s.Store.Renew(ctx, leases[i:i+1], ttl)[0] })
	}
	return errs
}

func (s *fullStore) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return s.change(func() error { return s.Store.Reply(ctx, key, replies) })
}

func (s *fullStore) PutBlob(ctx context.Context, l record.Lease, name string, data []byte) error {
	return s.change(func() error { return s.Store.PutBlob(ctx, l, name, data) })
}
