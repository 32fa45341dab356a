package filestore_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// disk is a file system in memory that knows what survives a power cut: synced content of files, and synced names in directories.
type disk struct {
	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode // after the last SyncDir
	changes int               // so far
	cut     int               // the change at which the power is cut; 0: none
	syncs   int               // of files
	dirs    int               // syncs of directories
	read    int               // bytes of files
	sizes   int               // files whose size was requested, as reading one does
	fault   error             // of the next Sync
}

// inode is the content of a file.
type inode struct{ now, durable []byte }

var errCut = errors.New("the power is cut")

func newDisk() *disk { return &disk{names: map[string]*inode{}, durable: map[string]*inode{}} }

// change counts a change and makes it. At the power cut it makes half of it, and later none.
func (d *disk) change(do, half func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	switch {
	case d.cut == 0 || d.changes < d.cut:
		do()
		return nil
	case d.changes == d.cut:
		half()
	}
	return errCut
}

func nothing() {}

func (d *disk) OpenFile(name string, flag int, _ fs.FileMode) (filestore.File, error) {
	if flag&os.O_CREATE != 0 {
		n := new(inode)
		return &handle{d, n}, d.change(func() { d.names[name] = n }, nothing)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.names[name]; n != nil {
		return &handle{d, n}, nil
	}
	return nil, fs.ErrNotExist
}

func (d *disk) ReadDir(dir string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := fstest.MapFS{}
	for name, n := range d.names {
		if name, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(name) {
			files[filepath.ToSlash(name)] = &fstest.MapFile{Data: n.now}
		}
	}
	return files.ReadDir(".")
}

func (d *disk) Rename(from, to string) error {
	return d.change(func() { d.names[to] = d.names[from]; delete(d.names, from) }, nothing)
}

func (d *disk) Remove(name string) error {
	d.mu.Lock()
	missing := d.names[name] == nil
	d.mu.Unlock()
	if missing {
		return fs.ErrNotExist
	}
	return d.change(func() { delete(d.names, name) }, nothing)
}

func (d *disk) SyncDir(string) error {
	return d.change(func() { d.dirs++; d.durable = maps.Clone(d.names) }, nothing)
}

type handle struct {
	disk *disk
	*inode
}

func (h *handle) ReadAt(p []byte, at int64) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if at >= int64(len(h.now)) {
		return 0, io.EOF
	}
	n := copy(p, h.now[at:])
	h.disk.read += n
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) WriteAt(p []byte, at int64) (int, error) {
	put := func(p []byte) {
		if end := int(at) + len(p); end > len(h.now) {
			h.now = append(h.now, make([]byte, end-len(h.now))...)
		}
		copy(h.now[at:], p)
	}
	return len(p), h.disk.change(func() { put(p) }, func() { put(p[:len(p)/2]) })
}

func (h *handle) Truncate(size int64) error {
	return h.disk.change(func() { h.now = slices.Clone(h.now[:size]) }, nothing)
}

func (h *handle) Sync() error {
	h.disk.mu.Lock()
	fault := h.disk.fault
	h.disk.fault = nil
	h.disk.mu.Unlock()
	if fault != nil {
		return fault
	}
	return h.disk.change(func() { h.disk.syncs++; h.durable = slices.Clone(h.now) }, nothing)
}

func (h *handle) Size() (int64, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.disk.sizes++
	return int64(len(h.now)), nil
}

func (h *handle) Close() error { return nil }

// The ways in which a power cut leaves what was not synced.
var fates = []struct {
	name string
	dirs bool // names survive
	keep func(now, durable []byte) []byte
}{
	{"lost", false, func(_, durable []byte) []byte { return durable }},
	{"kept", true, func(now, _ []byte) []byte { return now }},
	{"cut", true, func(now, durable []byte) []byte { return now[:len(now)-max(0, len(now)-len(durable))/2] }},
	{"names lost", false, func(now, _ []byte) []byte { return now }},
	{"out of order", true, func(now, durable []byte) []byte { // the first sector is not written
		out := slices.Clone(now)
		if from := len(durable); from < len(out) {
			clear(out[from:min(from-from%512+512, len(out))])
		}
		return append(out, durable[min(len(out), len(durable)):]...) // nor is a shorter size
	}},
}

func (d *disk) reboot(fate int) *disk {
	f := fates[fate]
	names := d.durable
	if f.dirs {
		names = d.names
	}
	next := newDisk()
	for name, n := range names {
		kept := slices.Clone(f.keep(n.now, n.durable))
		next.names[name] = &inode{now: kept, durable: slices.Clone(kept)}
	}
	next.durable = maps.Clone(next.names)
	return next
}

func (d *disk) put(path string, data []byte) {
	d.names[path] = &inode{now: slices.Clone(data), durable: slices.Clone(data)}
}

// on opens a store on a disk. Its locks are in a directory.
func (d *disk) on(t testing.TB, dir string) record.Store { return openOn(t, d, dir, nil) }

func (d *disk) file(t testing.TB) (path string, n *inode) {
	t.Helper()
	for name, inode := range d.names {
		if isMark(name) {
			continue
		}
		check.Require(t, n == nil, "got %s and %s, want one file", path, name)
		path, n = name, inode
	}
	check.Require(t, n != nil, "got no file")
	return path, n
}
