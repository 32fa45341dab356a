package filestore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// step is a call of a store. If it syncs, a power cut after it loses nothing.
type step struct {
	name   string
	synced bool
	do     func(*cast, record.Store) error
}

// cast is what steps hand to later ones.
type cast struct {
	draft *ledgertest.Draft
	lease record.Lease
}

func (c *cast) append(s record.Store, changes ...ledger.Change) error {
	return c.draft.Append(ctx, s, c.lease, changes...)
}

func (c *cast) acquire(s record.Store) (err error) {
	c.lease, err = s.Acquire(ctx, key, record.Holder{})
	return err
}

var two = run.Key{ID: "two"}

func begin(s record.Store, key run.Key, changes ...ledger.Change) (c cast, err error) {
	c.draft = ledgertest.New(key, changes...)
	c.lease, err = s.Create(ctx, record.Holder{}, c.draft.Head(), c.draft.Records)
	return c, err
}

var large = strings.Repeat("x", 3000)

// steps use every method that writes.
var steps = []step{
	{"create", true, func(c *cast, s record.Store) (err error) {
		*c, err = begin(s, key, question("a"), question("b"))
		return err
	}},
	{"append", true, func(c *cast, s record.Store) error { return c.append(s, note("1"), note(large)) }},
	{"renew", false, func(c *cast, s record.Store) error { return ledgertest.Renew(ctx, s, c.lease, -1) }},
	{"append after a lease", true, func(c *cast, s record.Store) error { return c.append(s, note("2")) }},
	{"append what is large", true, func(c *cast, s record.Store) error { return c.append(s, note(large)) }},
	{"create another", true, func(_ *cast, s record.Store) error { _, err := begin(s, two); return err }},
	{"acquire", false, func(c *cast, s record.Store) error { return c.acquire(s) }},
	{"answer", true, func(_ *cast, s record.Store) error {
		return s.Reply(ctx, key, []run.Reply{{Question: "a", Action: run.ActionAccept}})
	}},
	{"suspend", true, func(c *cast, s record.Store) error { return c.append(s, &ledger.Suspended{}) }},
	{"take the answer", true, func(c *cast, s record.Store) error {
		return c.append(s, &ledger.Replied{Reply: run.Reply{Question: "a", Action: run.ActionAccept}}, &ledger.Woken{})
	}},
	{"delete the other", true, func(_ *cast, s record.Store) error { return s.Delete(ctx, two) }},
	{"release", false, func(c *cast, s record.Store) error { return s.Release(ctx, c.lease) }},
	{"append after the release", true, func(c *cast, s record.Store) error { return c.append(s, note("3")) }},
	{"end", true, func(c *cast, s record.Store) error { return c.append(s, &ledger.Ended{Status: run.StatusFinished}) }},
}

// content returns everything that a store has of a run, except its lease.
func content(t *testing.T, s record.Store, key run.Key) string {
	t.Helper()
	log, err := s.Load(ctx, key)
	if errors.Is(err, record.ErrNotFound) {
		return ""
	}
	check.Must(t, err)
	text := check.Value(json.Marshal([]any{log.Head.Seq, log.Head.QuestionIDs, log.Head.ReplyCount, log.Replies, log.Records}))(t)
	return string(text)
}

// play takes steps until the power is cut. It returns how many, for each run the number up to the last synced one, and the lease.
func play(s record.Store) (made int, synced map[run.Key]int, last record.Lease) {
	c, synced := new(cast), map[run.Key]int{}
	for i, step := range steps {
		if err := step.do(c, s); err != nil {
			return i, synced, c.lease
		}
		if step.synced {
			k := key
			if strings.Contains(step.name, "other") {
				k = two
			}
			synced[k] = i + 1
		}
	}
	return len(steps), synced, c.lease
}

// TestPowerCut cuts the power at every change of the disk, in each way in which a disk may lose what was not synced.
// Synced changes survive, each run is as it was at one moment, and it can be continued, even if the power is cut again.
func TestPowerCut(t *testing.T) {
	dir, whole := t.TempDir(), newDisk()
	s := whole.on(t, dir)
	want := map[run.Key][]string{key: {""}, two: {""}} // after each number of steps
	c := new(cast)
	for _, step := range steps {
		check.Must(t, step.do(c, s))
		for k := range want {
			want[k] = append(want[k], content(t, s, k))
		}
	}
	for cut := 1; cut <= whole.changes; cut += testenv.Step(5) {
		for fate := range fates {
			d := newDisk()
			d.cut = cut
			made, synced, last := play(d.on(t, dir))
			after := d.reboot(fate)
			for k, all := range want {
				got := content(t, after.on(t, dir), k)
				if possible := all[synced[k] : made+2]; !slices.Contains(possible, got) {
					t.Fatalf("cut at change %d, in step %q, %s: run %s: got\n%.200s\nwant one of\n%.200q",
						cut, steps[made].name, fates[fate].name, k.ID, got, possible)
				}
			}
			goOn(t, after, fate, dir, last)
		}
	}
}

// goOn continues the run after a power cut, with another power cut at each change. Its lease has a new epoch.
func goOn(t *testing.T, d *disk, fate int, dir string, last record.Lease) {
	t.Helper()
	before := content(t, d.on(t, dir), key)
	if before == "" {
		return
	}
	next := func(s record.Store) error {
		c := cast{draft: drafted(t, s)}
		if err := c.acquire(s); err != nil {
			return err
		}
		check.Require(t, c.lease.Epoch > last.Epoch, "got epoch %d after %d", c.lease.Epoch, last.Epoch)
		if c.draft.State.Status.Ended() {
			return c.append(s, &ledger.Said{})
		}
		return c.append(s, note("4"), &ledger.Suspended{})
	}
	for cut, done := 1, false; !done; cut++ {
		again := d.reboot(1)
		again.cut = cut
		s := again.on(t, dir)
		done = next(s) == nil
		s = again.reboot(fate).on(t, dir)
		if got := content(t, s, key); done && got == before || got != before && len(got) <= len(before) {
			t.Fatalf("cut again at change %d, done %t, %s: got\n%.200s\nafter\n%.200s", cut, done, fates[fate].name, got, before)
		}
		check.Must(t, next(s))
	}
}

// TestSyncs counts the syncs of each call.
func TestSyncs(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		d := newDisk()
		s := openOn(t, d, t.TempDir(), &filestore.Options{NoSync: noSync})
		c := new(cast)
		for _, step := range steps {
			d.syncs, d.dirs = 0, 0
			check.Must(t, step.do(c, s))
			var want [2]int // of files and of directories
			if step.synced && !noSync {
				want = [2]int{1, 0}
				if strings.Contains(step.name, "create") {
					want = [2]int{1, 1}
				} else if strings.Contains(step.name, "delete") {
					want = [2]int{0, 1}
				}
			}
			check.Equal(t, fmt.Sprintf("no sync %t, %s: syncs of files and of directories", noSync, step.name), [2]int{d.syncs, d.dirs}, want)
		}
	}
}

// TestFailedSync checks that a record is not in the file if the sync fails.
func TestFailedSync(t *testing.T) {
	d := newDisk()
	s := d.on(t, t.TempDir())
	one, lease := create(t, s, key)
	before := content(t, s, key)
	records := one.Add(note("1"))
	full := errors.New("the disk is full")
	d.fault = full
	check.Is(t, s.Append(ctx, lease, one.Head(), records), full)
	check.Equal(t, "", content(t, s, key), before)
	check.NoError(t, s.Append(ctx, lease, one.Head(), records))
}

// TestEqualAnswerIsSynced syncs a repeated reply, because the process that wrote the first one may have ended before its sync.
func TestEqualAnswerIsSynced(t *testing.T) {
	d := newDisk()
	s := d.on(t, t.TempDir())
	create(t, s, key, question("a"))
	reply := []run.Reply{{Question: "a", Action: run.ActionAccept}}
	check.Must(t, s.Reply(ctx, key, reply))
	d.syncs = 0
	check.NoError(t, s.Reply(ctx, key, reply))
	check.Equal(t, "syncs", d.syncs, 1)
}

// TestUnfinishedFile checks that Open removes what an interrupted Create has left.
func TestUnfinishedFile(t *testing.T) {
	d, dir := newDisk(), t.TempDir()
	d.cut = 3 // the third change is the content, after the file and the mark
	check.Is(t, check.Err(begin(d.on(t, dir), key)), errCut)
	path, _ := d.file(t)
	for age, left := range map[time.Duration]bool{0: true, 2 * time.Hour: false} {
		write(t, path, nil)
		check.Must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
		s := open(t, dir, nil)
		check.Equal(t, age, check.Err(os.Stat(path)) == nil, left)
		check.Equal(t, "runs", len(listed(t, s, record.Query{AllTenants: true})), 0)
	}
}

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
