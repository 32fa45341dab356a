package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
)

func open(t testing.TB, dir string, opts *filestore.Options) filestore.Store {
	t.Helper()
	s, err := filestore.Open(dir, opts)
	check.Must(t, err)
	return s
}

// openOn is open on another file system.
func openOn(t testing.TB, files filestore.FS, dir string, opts *filestore.Options) filestore.Store {
	t.Helper()
	s, err := filestore.OpenOn(files, dir, opts)
	check.Must(t, err)
	return s
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

func TestStoreWithFewerSyncs(t *testing.T) {
	for name, sync := range map[string]filestore.Sync{"every turn": filestore.SyncEveryTurn, "never": filestore.SyncNever} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) record.Store { return newDisk().on(t, t.TempDir(), sync) })
		})
	}
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	storetest.Reopen(t, func(t *testing.T) (record.Store, func()) { return open(t, dir, nil), func() {} })
}

var (
	ctx = context.Background()
	key = run.Key{Tenant: "acme", ID: "one"}
)

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
	log, err := s.Load(ctx, key)
	check.Must(t, err)
	return ledgertest.Of(log.Records)
}

// file returns the path of the only run in a directory.
func file(t testing.TB, dir string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(all) != 1 {
		t.Fatalf("got %q, %v, want one file", all, err)
	}
	return all[0]
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	check.Must(t, os.WriteFile(path, data, 0o600))
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check.Must(t, err)
	return data
}

// TestBounds refuses a change that is too large, and leaves the run as it was.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &filestore.Options{MaxLine: 4 << 10, MaxFile: 8 << 10})
	d, lease := create(t, s, key)
	large := strings.Repeat("x", 3<<10)
	check.Text(t, drafted(t, s).Append(ctx, s, lease, note(large), note(large)), "at most 4096")
	add(t, s, lease, d, note(large))
	add(t, s, lease, d, note(large))
	check.Text(t, drafted(t, s).Append(ctx, s, lease, note(large)), "may have 8192")
	check.Equal(t, "records", fold(t, s).Seq, 3)
	if _, err := open(t, dir, &filestore.Options{MaxFile: 1 << 10}).Load(ctx, key); err == nil || errors.Is(err, record.ErrCorrupt) {
		t.Errorf("got %v, want the bound", err)
	}
}

// fold returns the state of the run in a store.
func fold(t testing.TB, s record.Store) *ledger.State {
	t.Helper()
	return drafted(t, s).State
}

// TestAcquireReadsTheEnd gets the holder of a large run without reading the run.
func TestAcquireReadsTheEnd(t *testing.T) {
	d := newDisk()
	s := d.on(t, t.TempDir(), filestore.SyncEveryEffect)
	large, _ := create(t, s, key)
	lease, err := s.Acquire(ctx, key, record.Holder{Name: "one", TTL: time.Hour})
	check.Must(t, err)
	add(t, s, lease, large, note(strings.Repeat("x", 1<<20)))
	add(t, s, lease, large, question("a"))
	check.Must(t, s.Reply(ctx, key, []run.Reply{{Question: "a", Action: run.ActionDecline}}))
	check.Must(t, s.Renew(ctx, lease, 2*time.Hour))
	d.read = 0
	_, err = s.Acquire(ctx, key, record.Holder{Name: "two"})
	if held, ok := errors.AsType[*record.HeldError](err); !ok || held.Holder != "one" {
		t.Errorf("got %v, want the holder one", err)
	}
	if d.read == 0 || d.read > 8<<10 {
		t.Errorf("got %d bytes read of a file of more than 1 MiB, want its end", d.read)
	}
}

// TestCopiedFile refuses a file with the content of another run.
func TestCopiedFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	create(t, s, key)
	path := file(t, dir)
	create(t, s, run.Key{ID: "two"})
	all, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	check.Must(t, err)
	for _, p := range all {
		write(t, p, read(t, path))
	}
	check.NoError(t, check.Err(s.Load(ctx, key)))
	check.Is(t, check.Err(s.Load(ctx, run.Key{ID: "two"})), record.ErrCorrupt)
	check.Is(t, check.Err(s.Acquire(ctx, run.Key{ID: "two"}, record.Holder{})), record.ErrCorrupt)
}

// TestCreateWhileTheClockStandsStill creates a run with the key of a deleted one. It has
// another epoch, even while the clock stands still, as it does in the bubble.
func TestCreateWhileTheClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := filestore.Open(t.TempDir(), &filestore.Options{Sync: filestore.SyncNever})
		check.Must(t, err)
		key := run.Key{ID: "r"}
		d, first := create(t, s, key)
		check.Must(t, s.Delete(ctx, key))
		if _, second := create(t, s, key); second.Epoch <= first.Epoch {
			t.Errorf("got the epoch %d after %d", second.Epoch, first.Epoch)
		}
		check.Is(t, d.Append(ctx, s, first, note("late")), record.ErrConflict, "the holder of the deleted run")
	})
}

// TestDeleteAfterTheClockWasSetBack deletes a run of a time to come, without a wait for that time.
func TestDeleteAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := filestore.Open(t.TempDir(), &filestore.Options{Sync: filestore.SyncNever})
		check.Must(t, err)
		start := time.Now()
		filestore.SetClock(s, func() time.Time { return start.Add(time.Minute) })
		create(t, s, key)
		filestore.SetClock(s, time.Now)
		check.NoError(t, s.Delete(ctx, key))
		check.Equal(t, "wait", time.Since(start), 0)
	})
}

// TestRoomForTheEnd ends a run whose file is full.
func TestRoomForTheEnd(t *testing.T) {
	s := open(t, t.TempDir(), &filestore.Options{MaxFile: 128 << 10})
	_, lease := create(t, s, key)
	for {
		if err := drafted(t, s).Append(ctx, s, lease, note(strings.Repeat("x", 5<<10))); err != nil {
			if !errors.Is(err, record.ErrTooLarge) {
				t.Fatal(err)
			}
			break
		}
	}
	end := &ledger.Ended{Status: run.StatusFailed, Error: strings.Repeat("the file is full ", 300)}
	check.NoError(t, drafted(t, s).Append(ctx, s, lease, end), "the end of the run")
	if got := fold(t, s).Status; got != run.StatusFailed {
		t.Errorf("got a run that is %s", got)
	}
}

func TestClockSetBack(t *testing.T) {
	storetest.ClockSetBack(t, func(t *testing.T) (record.Store, func(time.Time)) {
		store := open(t, t.TempDir(), nil)
		return store, func(at time.Time) { filestore.SetClock(store, func() time.Time { return at }) }
	})
}
