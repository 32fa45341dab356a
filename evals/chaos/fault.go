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
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// How long a store fails.
const (
	fullFor = time.Second
	downFor = 5 // seconds
)

// openFailing opens a store by name. fill fills its disk, or makes room again.
func openFailing(ctx context.Context, name, dir string) (_ record.Store, fill func(full bool) error, err error) {
	if name == "file" {
		d := new(disk)
		store, err := filestore.Open(filepath.Join(dir, "runs"), &filestore.Options{FS: d})
		return store, func(full bool) error { d.full.Store(full); return nil }, err
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "runs.db"))
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

// fillOnce fills the disk for a while when n runs have begun.
func fillOnce(ctx context.Context, store record.Store, n int, fill func(bool) error) error {
	if err := begun(ctx, store, n); err != nil {
		return err
	}
	if err := fill(true); err != nil {
		return err
	}
	time.Sleep(fullFor)
	return fill(false)
}

// restart restarts a server when n runs have begun.
func restart(ctx context.Context, server *testenv.Postgres, store record.Store, n int) error {
	if err := begun(ctx, store, n); err != nil {
		return err
	}
	return server.Restart(downFor)
}

// begun waits until n runs have begun.
func begun(ctx context.Context, store record.Store, n int) error {
	for {
		have := 0
		for head, err := range store.List(ctx, record.Query{}) {
			if err != nil {
				return err
			}
			if head.Status.Ended() {
				return errors.New("a run was over before the store failed")
			}
			have++
		}
		if have >= n {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// disk is a file system that can be full. It then writes half of the bytes.
type disk struct{ full atomic.Bool }

func (d *disk) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	if flag&os.O_CREATE != 0 && d.full.Load() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &file{f, d}, nil
}

func (d *disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (d *disk) Rename(from, to string) error               { return os.Rename(from, to) }
func (d *disk) Remove(name string) error                   { return os.Remove(name) }

func (d *disk) SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

type file struct {
	*os.File
	disk *disk
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	if !f.disk.full.Load() {
		return f.File.WriteAt(b, at)
	}
	n, err := f.File.WriteAt(b[:len(b)/2], at)
	if err == nil {
		err = &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

func (f *file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
