// Package filestore stores runs in files: one append-only file of JSON lines for each run.
//
// Any number of processes of one machine may share a directory. The file system has to be
// local, because processes exclude each other by file locks: on Linux, Open refuses NFS and SMB.
//
//	store, err := filestore.Open("runs", nil)
//	…
//	a, err := agent.New(model, &agent.Options{Durable: agent.Durable{Store: store}})
//
// The guide is docs/durability.md of the repository.
//
// # The content of a line
//
// A line is one change: new records, replies, or a change of the lease. It ends with the run's head, so that
// List reads only the last line of each file, and with a checksum of the line and its offset. If
// bytes of a file are changed or missing, Load reports [record.ErrCorrupt] with the file and the
// line. An unfinished last line, as a crash leaves it, is removed. A file that was truncated in
// another way cannot be told from that.
//
// # What a crash loses
//
// A change is not lost with the process once the method has returned nil, whatever [Sync] is. Sync
// decides what a power cut or a crash of the operating system loses. Leases are not synced: after a
// power cut, no process is left to hold a run.
//
// # Who can read the files
//
// The directory and the files are created for their owner only (modes 0700 and 0600). Open
// refuses a directory that is a symbolic link, that belongs to another user, or that a group or
// others can write to. On Windows a file inherits the permissions of its directory.
package filestore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/private"
)

// Sync specifies when a store waits until data is on the disk.
type Sync int

// The values specify which calls of Append sync. An Append with replies, and all other changes except
// those of leases, always sync, except with SyncNever.
const (
	// SyncEveryEffect syncs each Append. A power cut loses nothing.
	SyncEveryEffect Sync = iota

	// SyncEveryTurn syncs an Append that ends a turn, suspends the run, ends it or adds an input. A
	// power cut may lose the current turn: then its calls, which may have had effects, are made again.
	SyncEveryTurn

	// SyncNever leaves it to the operating system. A power cut may lose what was written in the
	// last seconds, and may damage a file.
	SyncNever
)

// Options configure [Open]. Nil and the zero value are valid. A change beyond a bound is refused:
// the error matches [record.ErrTooLarge].
type Options struct {
	Sync Sync // default SyncEveryEffect

	MaxLine int64 // bytes of a change; default 64 MiB; negative: no bound
	MaxFile int64 // bytes of a file; default 1 GiB; negative: no bound

	// AllowNetwork allows a directory on a network file system. The program vouches that file locks
	// exclude all processes there, and that a sync reaches the disk of the server.
	AllowNetwork bool
}

// withDefaults returns a copy of the options with their defaults.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	out.MaxLine, out.MaxFile = bound(out.MaxLine, 64<<20), bound(out.MaxFile, 1<<30)
	return out
}

// bound returns a bound of the options: the largest number if it is negative, the default if it is 0.
func bound(n, byDefault int64) int64 {
	if n < 0 {
		return math.MaxInt64
	}
	return cmp.Or(n, byDefault)
}

// Store is a [record.Store] in a directory. It keeps no file open and has no goroutine, so
// there is nothing to close. Its methods may be called concurrently.
type Store interface {
	record.Store
	record.BlobStore
	record.CurrentLoader
	record.Pruner
}

// directory is the [Store] of [Open].
type directory struct {
	dir   string
	opts  Options
	files fileSystem
	locks [stripes]chan struct{} // within this process
	now   func() time.Time       // for leases

	mu      sync.Mutex            // guards tenants
	tenants map[string]cachedSize // whose blobs were counted recently

	marking marking
}

// Open returns the store in a directory, and creates it if it is missing. It refuses a directory
// that others can write to.
func Open(dir string, opts *Options) (Store, error) { return open(dir, opts, osFS{}, networkOf) }

// open is Open with another file system.
func open(dir string, opts *Options, files fileSystem, networkOf func(string) string) (Store, error) {
	s := &directory{
		dir:     filepath.Clean(dir),
		opts:    opts.withDefaults(),
		files:   files,
		now:     time.Now,
		tenants: map[string]cachedSize{},
		marking: marking{turn: make(chan struct{}, 1)},
	}
	for i := range s.locks {
		s.locks[i] = make(chan struct{}, 1)
	}
	for _, dir := range []string{s.dir, s.path("locks"), s.path(dueShelf), s.path(waitingShelves)} {
		err := makeDirs(dir)
		if err == nil {
			err = private.CheckDir(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("open store of runs: %w", err)
		}
	}
	if name := networkOf(s.dir); name != "" && !s.opts.AllowNetwork {
		return nil, fmt.Errorf("open store of runs: %s is on a network file system (%s), "+
			"whose locks may not exclude other processes: use a local one, or set Options.AllowNetwork if they do", s.dir, name)
	}
	private.Sweep(s.dir)
	return s, nil
}

const (
	suffix  = ".jsonl"
	stripes = 256 // locks, shared by the runs
)

// nameOf returns the name of the file of a run, by SHA-256 of the key.
func nameOf(key run.Key) string {
	text := binary.AppendUvarint(nil, uint64(len(key.Tenant)))
	sum := sha256.Sum256(append(append(text, key.Tenant...), key.ID...))
	return hex.EncodeToString(sum[:]) + suffix
}

func (s *directory) path(name string) string { return filepath.Join(s.dir, name) }

// lock waits until no other goroutine or process changes the file. Some files share a lock. A
// process that is stopped while it holds one blocks others until it continues or ends.
func (s *directory) lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stripe, err := strconv.ParseUint(name[:2], 16, 8)
	if err != nil {
		return nil, err
	}
	select {
	case s.locks[stripe] <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release, err := private.Lock(ctx, filepath.Join(s.dir, "locks", name[:2]))
	if err != nil {
		<-s.locks[stripe]
		return nil, err
	}
	return func() {
		_ = release() // closing the file releases the lock in any case
		<-s.locks[stripe]
	}, nil
}
