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
// A change is not lost once the method has returned nil: not with the process and, unless
// [Options.NoSync] is set, not in a power cut or a crash of the operating system. Leases are not synced:
// after a power cut, no process is left to hold a run.
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
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/private"
)

// Options configure [Open]. Nil and the zero value are valid.
type Options struct {
	// NoSync leaves it to the operating system when data reaches the disk. A power cut may lose what
	// was written in the last seconds, and may damage a file. Default: each change except those of
	// leases is synced, and a power cut loses nothing.
	NoSync bool

	// AllowNetwork allows a directory on a network file system. The program vouches that file locks
	// exclude all processes there, and that a sync reaches the disk of the server.
	AllowNetwork bool
}

// Bounds in bytes. A change beyond them is refused: the error matches [record.ErrTooLarge].
const (
	maxLine = 64 << 20 // a change
	maxFile = 1 << 30  // a run
)

// directory is the [record.Store] of [Open].
type directory struct {
	dir   string
	sync  bool // Options.NoSync is not set
	files fileSystem
	locks [stripes]chan struct{} // within this process
	now   func() time.Time       // for leases

	maxLine, maxFile int64

	mu      sync.Mutex            // guards tenants
	tenants map[string]cachedSize // whose blobs were counted recently

	marking marking
}

// Open returns the store in a directory, and creates it if it is missing. It refuses a directory
// that others can write to. The store keeps no file open and has no goroutine, so there is nothing to
// close.
func Open(dir string, opts *Options) (record.Store, error) { return open(dir, opts, osFS{}, networkOf) }

// open is Open with another file system.
func open(dir string, opts *Options, files fileSystem, networkOf func(string) string) (record.Store, error) {
	opts = cmp.Or(opts, new(Options))
	s := &directory{
		dir:     filepath.Clean(dir),
		sync:    !opts.NoSync,
		files:   files,
		maxLine: maxLine,
		maxFile: maxFile,
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
	if name := networkOf(s.dir); name != "" && !opts.AllowNetwork {
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

// stripeOf returns the name of the lock of a file, a number below stripes in hexadecimal.
func stripeOf(name string) string { return name[:2] }

// locked calls do while no other goroutine or process changes the file. Some files share a lock. A
// process that is stopped while it holds one blocks others until it continues or ends.
func (s *directory) locked(ctx context.Context, name string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stripe, err := strconv.ParseUint(stripeOf(name), 16, 8)
	if err != nil {
		return err
	}
	select {
	case s.locks[stripe] <- struct{}{}:
		defer func() { <-s.locks[stripe] }()
	case <-ctx.Done():
		return ctx.Err()
	}
	release, err := private.Lock(ctx, filepath.Join(s.dir, "locks", stripeOf(name)))
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // closing the file releases the lock in any case
	return do()
}
