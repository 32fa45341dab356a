package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// How long a store fails.
const (
	fullFor = time.Second
	downFor = 5 // seconds that a Postgres server is down
)

// failOnce calls fail, which has the store fail for a while, as soon as n runs have begun. end waits
// for that, and returns the error of fail, or one that says why the store has not failed.
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
		d := &disk{FS: filestore.OS()}
		store, err := filestore.Open(filepath.Join(o.Dir, "runs"), &filestore.Options{FS: d})
		return store, func(full bool) error { d.full.Store(full); return nil }, err
	}
	db, err := sql.Open("sqlite", filepath.Join(o.Dir, "runs.db"))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1) // max_page_count is a setting of a connection
	store, err := sqlstore.New(ctx, db, sqlstore.DialectSQLite)
	return store, func(full bool) error {
		pages := 1 << 30
		if full {
			pages = 1 // SQLite takes the present size
		}
		_, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		return err
	}, err
}

// disk is a file system that can be full. It then creates no file, and writes half of the bytes.
type disk struct {
	filestore.FS
	full atomic.Bool
}

func (d *disk) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	if flag&os.O_CREATE != 0 && d.full.Load() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	f, err := d.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &file{f, name, d}, nil
}

// file is an open file of a disk.
type file struct {
	filestore.File
	name string
	disk *disk
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	if !f.disk.full.Load() {
		return f.File.WriteAt(b, at)
	}
	n, err := f.File.WriteAt(b[:len(b)/2], at)
	if err == nil {
		err = &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return n, err
}
