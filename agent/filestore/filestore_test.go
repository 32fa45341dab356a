package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/private"
)

func open(t testing.TB, dir string, opts *filestore.Options) record.Store {
	t.Helper()
	return check.Value(filestore.Open(dir, opts))(t)
}

func openOn(t testing.TB, files filestore.FS, dir string, opts *filestore.Options) record.Store {
	t.Helper()
	return check.Value(filestore.OpenOn(files, dir, opts))(t)
}

// pair is two stores that share a directory, as in two processes.
type pair struct {
	record.Store
	other record.Store
	calls atomic.Int64
}

func (p *pair) next() record.Store {
	if p.calls.Add(1)%2 == 0 {
		return p.Store
	}
	return p.other
}

func (p *pair) Create(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	return p.next().Create(ctx, h, head, records)
}

func (p *pair) Append(ctx context.Context, lease record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	return p.next().Append(ctx, lease, head, records, replies...)
}

func (p *pair) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	return p.next().Acquire(ctx, key, h)
}

func (p *pair) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return p.next().Reply(ctx, key, replies)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) record.Store {
		dir := t.TempDir()
		return &pair{Store: open(t, dir, nil), other: open(t, dir, nil)}
	})
}

func TestStoreWithoutSyncs(t *testing.T) {
	storetest.Run(t, func(t *testing.T) record.Store {
		return openOn(t, newDisk(), t.TempDir(), &filestore.Options{NoSync: true})
	})
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	storetest.Reopen(t, func(t *testing.T) (record.Store, func()) { return open(t, dir, nil), func() {} })
}

var ctx = context.Background()
var key = run.Key{Tenant: "acme", ID: "one"}

// What tests take from package ledgertest, by the names that they use often.
var (
	create   = ledgertest.Create
	note     = ledgertest.Note
	question = ledgertest.Question
)

func add(t testing.TB, s record.Store, lease record.Lease, d *ledgertest.Draft, changes ...ledger.Change) {
	t.Helper()
	check.Must(t, d.Append(ctx, s, lease, changes...))
}

// drafted returns a draft that continues the run in a store.
func drafted(t testing.TB, s record.Store) *ledgertest.Draft {
	t.Helper()
	return ledgertest.Of(check.Value(s.Load(ctx, key))(t).Records)
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	check.Must(t, os.WriteFile(path, data, 0o600))
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	return check.Value(os.ReadFile(path))(t)
}

// TestBounds refuses a change that is too large, and leaves the run as it was.
func TestBounds(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	filestore.SetBounds(s, 4<<10, 8<<10)
	d, lease := create(t, s, key)
	large := strings.Repeat("x", 3<<10)
	check.Text(t, drafted(t, s).Append(ctx, s, lease, note(large), note(large)), "at most 4096")
	add(t, s, lease, d, note(large))
	add(t, s, lease, d, note(large))
	check.Text(t, drafted(t, s).Append(ctx, s, lease, note(large)), "may have 8192")
	check.Equal(t, "records", fold(t, s).Seq, 3)
	filestore.SetBounds(s, 4<<10, 1<<10)
	_, err := s.Load(ctx, key)
	check.That(t, err != nil && !errors.Is(err, record.ErrCorrupt), "got %v, want the bound", err)
}

func fold(t testing.TB, s record.Store) *ledger.State {
	t.Helper()
	return drafted(t, s).State
}

// TestAcquireReadsTheEnd gets the holder of a large run without reading the run.
func TestAcquireReadsTheEnd(t *testing.T) {
	d := newDisk()
	s := d.on(t, t.TempDir())
	large, _ := create(t, s, key)
	lease, err := s.Acquire(ctx, key, record.Holder{Name: "one", TTL: time.Hour})
	check.Must(t, err)
	add(t, s, lease, large, note(strings.Repeat("x", 1<<20)))
	add(t, s, lease, large, question("a"))
	check.Must(t, s.Reply(ctx, key, []run.Reply{{Question: "a", Action: run.ActionDecline}}))
	check.Must(t, ledgertest.Renew(ctx, s, lease, 2*time.Hour))
	d.read = 0
	_, err = s.Acquire(ctx, key, record.Holder{Name: "two"})
	held, ok := errors.AsType[*record.HeldError](err)
	check.That(t, ok && held.Holder == "one", "got %v, want the holder one", err)
	check.That(t, d.read != 0 && d.read <= 8<<10, "got %d bytes read of a file of more than 1 MiB, want its end", d.read)
}

// TestCopiedFile refuses a file with the content of another run.
func TestCopiedFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	create(t, s, key)
	create(t, s, two)
	write(t, filepath.Join(dir, filestore.NameOf(two)), read(t, filepath.Join(dir, filestore.NameOf(key))))
	check.NoError(t, check.Err(s.Load(ctx, key)))
	check.Is(t, check.Err(s.Load(ctx, two)), record.ErrCorrupt)
	check.Is(t, check.Err(s.Acquire(ctx, two, record.Holder{})), record.ErrCorrupt)
}

// A run with the key of a deleted one has another epoch, even while the clock stands still, as it does in the bubble.
func TestCreateWhileTheClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir(), &filestore.Options{NoSync: true})
		d, first := create(t, s, key)
		check.Must(t, s.Delete(ctx, key))
		_, second := create(t, s, key)
		check.That(t, second.Epoch > first.Epoch, "got the epoch %d after %d", second.Epoch, first.Epoch)
		check.Is(t, d.Append(ctx, s, first, note("late")), record.ErrConflict, "the holder of the deleted run")
	})
}

// TestDeleteAfterTheClockWasSetBack deletes a run of a time to come, without a wait for that time.
func TestDeleteAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := open(t, t.TempDir(), &filestore.Options{NoSync: true}), time.Now()
		filestore.SetClock(s, func() time.Time { return start.Add(time.Minute) })
		create(t, s, key)
		filestore.SetClock(s, time.Now)
		check.NoError(t, s.Delete(ctx, key))
		check.Equal(t, "wait", time.Since(start), 0)
	})
}

// TestRoomForTheEnd ends a run whose file is full.
func TestRoomForTheEnd(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	filestore.SetBounds(s, 64<<10, 128<<10)
	_, lease := create(t, s, key)
	var err error
	for err == nil {
		err = drafted(t, s).Append(ctx, s, lease, note(strings.Repeat("x", 5<<10)))
	}
	check.Is(t, err, record.ErrTooLarge)
	end := &ledger.Ended{Status: run.StatusFailed, Error: strings.Repeat("the file is full ", 300)}
	check.NoError(t, drafted(t, s).Append(ctx, s, lease, end), "the end of the run")
	check.Equal(t, "status", fold(t, s).Status, run.StatusFailed)
}

// counting is a file system that counts goroutines.
type counting struct {
	filestore.FS
	most atomic.Int64
}

func (c *counting) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	c.most.Store(max(c.most.Load(), int64(runtime.NumGoroutine())))
	return c.FS.OpenFile(name, flag, perm)
}

// TestRenewManyLeases renews many leases with a goroutine for each lock at most.
func TestRenewManyLeases(t *testing.T) {
	files := &counting{FS: filestore.OS()}
	s := openOn(t, files, t.TempDir(), nil)
	leases := make([]record.Lease, 2000)
	for i := range leases {
		leases[i].Key.ID = fmt.Sprint(i) // of no run
	}
	before := runtime.NumGoroutine()
	for _, err := range s.Renew(t.Context(), leases, time.Hour) {
		check.Is(t, err, record.ErrConflict)
	}
	got := files.most.Load()
	check.That(t, got <= int64(before)+256, "got %d goroutines, want 256 at most beside %d", got, before)
}

// TestRenewBesideAStoppedProcess renews a lease together with that of a run that another process blocks.
func TestRenewBesideAStoppedProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	_, blocked := create(t, s, key)
	_, free := create(t, s, two)
	unlock := check.Value(private.Lock(ctx, filepath.Join(dir, "locks", filestore.NameOf(key)[:2])))(t)
	defer func() { check.NoError(t, unlock()) }()
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	errs := s.Renew(short, []record.Lease{blocked, free}, time.Hour)
	check.Is(t, errs[0], context.DeadlineExceeded, "blocked")
	check.NoError(t, errs[1], "free")
}

func TestClockSetBack(t *testing.T) {
	storetest.ClockSetBack(t, func(t *testing.T) (record.Store, func(time.Time)) {
		store := open(t, t.TempDir(), nil)
		return store, func(at time.Time) { filestore.SetClock(store, func() time.Time { return at }) }
	})
}

// TestNetworkFileSystem opens a store on a network file system only with Options.AllowNetwork.
func TestNetworkFileSystem(t *testing.T) {
	dir := t.TempDir()
	_, err := filestore.OpenAt("NFS", dir, nil)
	check.Text(t, err, dir+" is on a network file system (NFS)")
	check.Text(t, err, "Options.AllowNetwork")
	check.NoError(t, check.Err(filestore.OpenAt("NFS", dir, &filestore.Options{AllowNetwork: true})), "with the word of the host")
	check.NoError(t, check.Err(filestore.Open(dir, nil)), "a local one")
}

// TestBlobsOfATenant counts the blobs of a tenant while they are put, replaced and deleted, and from the files.
func TestBlobsOfATenant(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	counts := func(tenant string, want int64) {
		t.Helper()
		for _, again := range []bool{false, true} {
			got, err := filestore.OfTenant(s, run.Key{Tenant: tenant, ID: "any"}, again)
			check.That(t, err == nil && got == want, "counted again %t: got %d bytes of %q, %v, want %d", again, got, tenant, err, want)
		}
	}
	put := func(lease record.Lease, name string, n int) {
		t.Helper()
		check.Must(t, s.PutBlob(ctx, lease, name, make([]byte, n)))
	}
	b := run.Key{Tenant: "acme", ID: "b"}
	_, leaseA := create(t, s, run.Key{Tenant: "acme", ID: "a"})
	_, leaseB := create(t, s, b)
	_, leaseOther := create(t, s, run.Key{Tenant: "other", ID: "a"})
	counts("acme", 0)
	put(leaseA, "x", 100)
	put(leaseB, "x", 10)
	put(leaseB, "y", 1)
	put(leaseOther, "x", 5000)
	counts("acme", 111)
	put(leaseA, "x", 70)
	counts("acme", 81)
	check.Must(t, s.Delete(ctx, b))
	counts("acme", 70)
	counts("other", 5000)
}

// TestDamagedBlob finds each changed byte, and a missing one.
func TestDamagedBlob(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	_, lease := create(t, s, key)
	check.Must(t, s.PutBlob(ctx, lease, "x", []byte("what is kept")))
	found, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "x"))
	check.Require(t, err == nil && len(found) == 1, "got the files %q, %v", found, err)
	data := check.Value(os.ReadFile(found[0]))(t)
	for i := range data {
		for _, damaged := range [][]byte{flipped(data, i, 1), slices.Delete(slices.Clone(data), i, i+1)} {
			write(t, found[0], damaged)
			check.Is(t, check.Err(s.Blob(ctx, key, "x")), record.ErrCorrupt, "byte", i)
		}
	}
}

// TestBlobAtAPowerCut checks that a blob is durable when the put returns.
func TestBlobAtAPowerCut(t *testing.T) {
	dir := t.TempDir()
	for cut := 0; ; cut++ {
		d := newDisk()
		s := d.on(t, dir)
		_, lease := create(t, s, key)
		if cut > 0 {
			d.cut = d.changes + cut
		}
		err := s.PutBlob(ctx, lease, "x", []byte("what is kept"))
		for fate := range fates {
			got, failed := d.reboot(fate).on(t, dir).Blob(ctx, key, "x")
			if kept := failed == nil && string(got) == "what is kept"; err == nil && !kept || failed != nil && errors.Is(failed, record.ErrCorrupt) {
				t.Errorf("cut at change %d, %s: got %q, %v after %v", cut, fates[fate].name, got, failed, err)
			}
		}
		if cut > 0 && err == nil {
			break
		}
	}
}

// TestTenantOfFiles uses sparse files, which take no room on the disk.
func TestTenantOfFiles(t *testing.T) {
	storetest.Tenant(t, func(t *testing.T) (record.Store, func(run.Key, int64) record.Store) {
		dir := t.TempDir()
		return open(t, dir, nil), func(key run.Key, size int64) record.Store {
			files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "a"))
			check.Require(t, err == nil && len(files) == 1, "got the blobs %q, %v", files, err)
			check.Must(t, os.Truncate(files[0], size))
			return open(t, dir, nil)
		}
	})
}
