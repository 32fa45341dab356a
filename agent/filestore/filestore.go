// Package filestore keeps runs in files: one append-only file of lines of JSON for each run.
//
// Any number of processes of one machine may share a directory. Its file system has to be local, as
// the processes exclude each other by file locks: on Linux, Open refuses NFS and SMB.
//
//	store, err := filestore.Open("runs", nil)
//	…
//	a, err := agent.New(model, &agent.Options{Store: store})
//
// The guide is docs/durability.md of the repository.
//
// # What a line has
//
// A line is one change: new records, answers, or a new holder. It ends with the run's head, so that
// List reads the ends of the files alone, and with a checksum of itself and its place. If bytes of a file
// are changed or missing, Load reports [record.ErrCorrupt] with the file and the line. What a crash has left of a
// line at the end is cut; a file whose end was cut off in another way looks the same.
//
// # What a crash loses
//
// The end of a process loses nothing that a method has returned nil for, whatever [Sync] is. Sync
// says what a power cut or the end of the operating system loses. The lease of a run is not synced: after a
// power cut, no process is left to hold the run.
//
// # Who can read the files
//
// The directory and the files are made for their owner alone (modes 0700 and 0600). Open refuses a
// directory that is a symbolic link, that belongs to another user, or to which a group or others can write.
// On Windows a file inherits the permissions of its directory.
package filestore

import (
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

// Sync says when a store waits until the disk has what it writes.
type Sync int

// What Append syncs. Create, Answer, Delete and an Append with answers always sync, except under Never.
const (
	// SyncEveryEffect syncs each Append. A power cut loses nothing.
	SyncEveryEffect Sync = iota

	// SyncEveryTurn syncs an Append that ends a turn, suspends the run, ends it or adds an input. A power cut
	// may lose the turn under way: then its calls, which may have had their effects, are made again.
	SyncEveryTurn

	// SyncNever leaves it to the operating system. A power cut may lose what was written in the
	// seconds before, and may leave a file that is damaged.
	SyncNever
)

// Options configure [Open]. Nil and zero are valid. A change or a file beyond its bound is an error of the method.
type Options struct {
	Sync Sync // default EveryEffect

	MaxLine int64 // bytes of a change that is written; default 64 MiB; negative: no bound
	MaxFile int64 // bytes of a file that is written or read; default 1 GiB; negative: no bound

	// Network has Open take a directory on a network file system. The host vouches that file locks exclude all processes
	// there, and that a sync reaches the disk of the server.
	Network bool

	// FS is for tests: it counts syncs and loses writes. Nil is the file system of the
	// operating system. Locks and the check of the directory do not use it.
	FS FS
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	for _, bound := range []struct {
		value *int64
		def   int64
	}{{&out.MaxLine, 64 << 20}, {&out.MaxFile, 1 << 30}} {
		switch {
		case *bound.value == 0:
			*bound.value = bound.def
		case *bound.value < 0:
			*bound.value = math.MaxInt64
		}
	}
	if out.FS == nil {
		out.FS = osFS{}
	}
	return out
}

// Store is a [record.Store] in a directory. It keeps no file open and has no goroutine: there is
// nothing to close. Its methods may be called concurrently.
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
	locks [stripes]chan struct{} // within this process
	now   func() time.Time       // of leases

	mu      sync.Mutex         // guards tenants
	tenants map[string]counted // whose blobs were counted lately

	marking marking
}

// Open returns the store in a directory, which is made if it is missing. The error is for a directory that cannot
// be made, or that others can write to, see above.
func Open(dir string, opts *Options) (Store, error) { return open(dir, opts, networkOf) }

func open(dir string, opts *Options, networkOf func(string) string) (Store, error) {
	s := &directory{dir: filepath.Clean(dir), opts: opts.withDefaults(), now: time.Now, tenants: map[string]counted{}}
	s.marking.turn = make(chan struct{}, 1)
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
	if name := networkOf(s.dir); name != "" && !s.opts.Network {
		return nil, fmt.Errorf("open store of runs: %s is on a network file system (%s), whose locks may not exclude other processes: use a local one, or set Options.Network if they do", s.dir, name)
	}
	private.Sweep(s.dir)
	return s, nil
}

const (
	suffix  = ".jsonl"
	stripes = 256 // locks, which the runs share
)

// nameOf is the name of the file of a run. Equal names of two keys would be a collision of SHA-256.
func nameOf(key run.Key) string {
	text := binary.AppendUvarint(nil, uint64(len(key.Tenant)))
	sum := sha256.Sum256(append(append(text, key.Tenant...), key.ID...))
	return hex.EncodeToString(sum[:]) + suffix
}

func (s *directory) path(name string) string { return filepath.Join(s.dir, name) }

// lock waits until no other goroutine or process changes the file. Some other files have the same
// lock. A process that is stopped while it holds one keeps others out until it continues or ends.
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
		_ = release() // the closed file ends the lock in any case
		<-s.locks[stripe]
	}, nil
}
