package record_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestDeleteEnded deletes old runs that have ended, and no others.
func TestDeleteEnded(t *testing.T) {
	store := record.NewMemory()
	for i := range 250 {
		keep(t, store, run.Key{ID: fmt.Sprint("over ", i)}, "a", &ledger.Ended{Status: run.StatusFinished})
	}
	keep(t, store, run.Key{ID: "failed"}, "a", &ledger.Ended{Status: run.StatusFailed})
	keep(t, store, run.Key{ID: "waits"}, "a", opens("q", run.QuestionApproval), &ledger.Suspended{})
	keep(t, store, run.Key{ID: "other"}, "b", &ledger.Ended{Status: run.StatusCancelled})
	count := func() (n int) {
		for range store.List(t.Context(), record.Query{}) {
			n++
		}
		return n
	}
	later := time.Now().AddDate(10, 0, 0)
	for _, step := range []struct {
		query         record.Query
		deleted, left int
	}{
		{record.Query{ChangedBefore: start.AddDate(-1, 0, 0)}, 0, 253},
		{record.Query{ChangedBefore: later, Limit: 3}, 3, 250},
		{record.Query{ChangedBefore: later, Status: run.StatusFailed}, 1, 249},
		{record.Query{ChangedBefore: later, Agents: []string{"a"}}, 247, 2},
		{record.Query{}, 1, 1},
		{record.Query{}, 0, 1},
	} {
		if n, err := record.DeleteEnded(t.Context(), store, step.query); err != nil || n != step.deleted || count() != step.left {
			t.Errorf("%+v: deleted %d and left %d, %v, want %d and %d", step.query, n, count(), err, step.deleted, step.left)
		}
	}
	if _, err := record.DeleteEnded(t.Context(), store, record.Query{Status: run.StatusWaiting}); err == nil || !strings.Contains(err.Error(), "not that of an ended run") {
		t.Errorf("runs that wait: got %v", err)
	}
}

// changed is a store whose logs differ from what was written.
func changed(store record.Store, change func(*record.Log)) record.Store {
	return ledgertest.Watch(store, func(c *ledgertest.Call) error {
		err := c.Do()
		if err == nil && c.Log != nil {
			change(c.Log)
		}
		return err
	})
}

// TestVerify finds the defects of a run, and none in others.
func TestVerify(t *testing.T) {
	store := record.NewMemory()
	keep(t, store, run.Key{ID: "one"}, "a", opens("q", run.QuestionApproval), &ledger.Suspended{})
	s, _ := draft(begun...)
	snapshot, err := ledger.NewSnapshot(s)
	check(t, err)
	for name, tt := range map[string]struct {
		change func(*record.Log)
		want   string
	}{
		"fine":            {func(*record.Log) {}, ""},
		"another status":  {func(l *record.Log) { l.Head.Status = run.StatusFinished }, "its head is"},
		"a question less": {func(l *record.Log) { l.Head.QuestionIDs = nil }, "its head is"},
		"a record less":   {func(l *record.Log) { l.Records = l.Records[1:] }, "apply record"},
		"another snapshot": {func(l *record.Log) {
			more := []ledger.Entry{{Seq: 2, At: l.Records[1].At, Change: snapshot}, {Seq: 3, At: l.Records[2].At, Change: &ledger.Suspended{}}}
			records, err := ledger.Encode(more...)
			check(t, err)
			l.Records = append(l.Records[:1:1], records...)
			state, err := ledger.StateOf(l.Records)
			check(t, err)
			l.Head = ledger.HeadOf(state)
		}, "its snapshot in record 2: leads to another state"},
	} {
		var got []string
		for key, err := range record.Verify(t.Context(), changed(store, tt.change), record.Query{}) {
			if key.ID != "one" || !errors.Is(err, record.ErrCorrupt) {
				t.Errorf("%s: got %v, %v", name, key, err)
			}
			got = append(got, err.Error())
		}
		if len(got) > 1 || (len(got) == 1) != (tt.want != "") || len(got) == 1 && !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestImportRefuses imports exported runs that are cut, changed, or of another format.
func TestImportRefuses(t *testing.T) {
	store := record.NewMemory()
	key := run.Key{Tenant: "acme", ID: "one"}
	keep(t, store, key, "a", opens("q", run.QuestionApproval), &ledger.Suspended{})
	var out bytes.Buffer
	check(t, record.Export(t.Context(), store, key, &out))
	text := out.String()
	lines := strings.SplitAfter(text, "\n")
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":          {"", "not an exported run"},
		"another file":     {`{"a":1}`, "mcpchain_run is 0"},
		"a later form":     {strings.Replace(text, `"mcpchain_run":1`, `"mcpchain_run":3`, 1), "mcpchain_run is 3"},
		"a cut":            {strings.Join(lines[:2], ""), "record 2: unexpected EOF"},
		"no end":           {strings.Join(lines[:len(lines)-2], ""), "the last line: unexpected EOF"},
		"a changed byte":   {strings.Replace(text, `"status":"waiting"`, `"status":"running"`, 1), "wrong checksum"},
		"a changed record": {strings.Replace(text, "approval", "Approval", 1), "wrong checksum"},
	} {
		into := record.NewMemory()
		if _, err := record.Import(t.Context(), into, strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if _, err := into.Load(t.Context(), key); !errors.Is(err, record.ErrNotFound) {
			t.Errorf("%s: got %v, want nothing kept", name, err)
		}
	}
	if _, err := record.Import(t.Context(), store, strings.NewReader(text)); !errors.Is(err, record.ErrExists) {
		t.Errorf("a run that is there: got %v", err)
	}
	if err := record.Export(t.Context(), store, run.Key{ID: "nobody"}, &out); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("a run that is not there: got %v", err)
	}
}

// TestImportBesideOthers imports runs with a blob, of one chunk and of several, to a slow store, beside processes that
// continue what is due: nobody takes a run before it is whole, also if the import is killed.
func TestImportBesideOthers(t *testing.T) { synctest.Test(t, importBesideOthers) }

func importBesideOthers(t *testing.T) {
	key := run.Key{ID: "one"}
	for _, size := range []int{1, 5 << 20} {
		for _, open := range []func(record.Store) record.Store{
			func(s record.Store) record.Store { return s },
			func(s record.Store) record.Store { return record.Sealed(s, keys(t, "a")) },
		} {
			from := record.NewMemory()
			d, lease := ledgertest.Create(t, open(from), key, ledgertest.Notes(strings.Repeat("x", size), 3)...)
			check(t, record.BlobsOf(from).PutBlob(t.Context(), lease, "blob", []byte("data")))
			var out bytes.Buffer
			check(t, record.Export(t.Context(), from, key, &out))
			into := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
				if c.Method == "append" || c.Method == "put" {
					time.Sleep(50 * time.Second)
					_, err := c.Store.Acquire(t.Context(), key, record.Holder{})
					log, _ := c.Store.Load(t.Context(), key)
					if log.Head.HeldUntil = (time.Time{}); !errors.Is(err, record.ErrHeld) || log.Head.Due(time.Now()) {
						t.Errorf("%s: got %v, and due %t after the lease, want a run that is held, and not due", c.Method, err, log.Head.Due(time.Now()))
					}
				}
				return c.Do()
			})
			_, err := record.Import(t.Context(), into, &out)
			check(t, err)
			log, err := into.Load(t.Context(), key)
			if err != nil || !log.Head.Due(time.Now()) || log.Head.Seq != d.State.Seq || len(log.Records) != len(d.Records) {
				t.Errorf("got %+v, %v, want the run, held by nobody", log.Head, err)
			}
		}
	}
}

// TestImportOfSealed imports an encrypted run whose head has another number than its last record,
// with a right checksum: nobody can compare more of it without the keys.
func TestImportOfSealed(t *testing.T) {
	store := record.NewMemory()
	keep(t, record.Sealed(store, keys(t, "k")), run.Key{ID: "one"}, "a", &ledger.Suspended{})
	var out bytes.Buffer
	check(t, record.Export(t.Context(), store, run.Key{ID: "one"}, &out))
	lines := strings.SplitAfter(out.String(), "\n")
	for seq, want := range map[string]string{"4": "", "2": "the head is of record 2", "900": "the head is of record 900"} {
		text := strings.Replace(strings.Join(lines[:5], ""), `"seq":4`, `"seq":`+seq, 1)
		text += fmt.Sprintf("{\"sha256\":\"%x\"}\n", sha256.Sum256([]byte(text)))
		_, err := record.Import(t.Context(), record.NewMemory(), strings.NewReader(text))
		if want == "" && err != nil || want != "" && (!errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), want)) {
			t.Errorf("record %s: got %v, want %q", seq, err, want)
		}
	}
}

// ending is a store whose lists begin with a damaged run, which counts for their limit, and whose loads end a context.
type ending struct {
	record.Store
	end func()
}

func (s ending) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		key := run.Key{ID: "damaged"}
		if !yield(run.Head{Key: key}, &record.DamagedError{Key: key, Err: record.ErrCorrupt}) || q.Limit == 1 {
			return
		}
		q.Limit = max(0, q.Limit-1)
		s.Store.List(ctx, q)(yield)
	}
}

func (s ending) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	s.end()
	return s.Store.Load(ctx, key)
}

// A damaged run does not keep another one from being deleted, and a Verify that was interrupted says so.
func TestOperateOnDamagedRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := ending{record.NewMemory(), cancel}
	for _, id := range []string{"one", "two"} {
		keep(t, store.Store, run.Key{ID: id}, "a", &ledger.Ended{Status: run.StatusFinished})
	}
	if n, err := record.DeleteEnded(t.Context(), store, record.Query{Limit: 1}); n != 1 || err != nil {
		t.Errorf("got %d deleted, %v, want 1", n, err)
	}
	var last error
	for key, err := range record.Verify(ctx, store, record.Query{}) {
		if last = err; key.ID != "damaged" && key.ID != "" {
			t.Errorf("got %v, %v", key, err)
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", last)
	}
}

// interfering is a store in which another process changes runs before this one has acquired them.
func interfering(store record.Store, change func(run.Key) error) record.Store {
	return ledgertest.Watch(store, func(c *ledgertest.Call) error {
		if c.Method == "acquire" {
			if err := change(c.Key); err != nil {
				return err
			}
		}
		return c.Do()
	})
}

// A run that gets another input after it was listed is not deleted, nor one that a process holds.
func TestDeleteEndedBesideOthers(t *testing.T) {
	inner := record.NewMemory()
	for _, id := range []string{"one", "two", "three"} {
		keep(t, inner, run.Key{ID: id}, "a", &ledger.Ended{Status: run.StatusFinished})
	}
	store := interfering(inner, func(key run.Key) error {
		switch key.ID {
		case "one":
			extend(t, inner, key, &ledger.Said{})
		case "two":
			_, err := inner.Acquire(t.Context(), key, record.Holder{TTL: time.Minute})
			check(t, err)
		}
		return nil
	})
	if n, err := record.DeleteEnded(t.Context(), store, record.Query{}); n != 1 || err != nil {
		t.Errorf("got %d deleted, %v, want one", n, err)
	}
	for id, want := range map[string]error{"one": nil, "two": nil, "three": record.ErrNotFound} {
		if log, err := inner.Load(t.Context(), run.Key{ID: id}); !errors.Is(err, want) || id == "one" && !log.Head.HeldUntil.IsZero() {
			t.Errorf("run %s: got %+v, %v, want %v", id, log, err, want)
		}
	}
}

// After an outage a run is deleted under a lease, as otherwise another process could take it over.
func TestDeleteEndedAfterAnOutage(t *testing.T) {
	inner, key := record.NewMemory(), run.Key{ID: "one"}
	keep(t, inner, key, "a", &ledger.Ended{Status: run.StatusFinished})
	failed := false
	store := ledgertest.Watch(inner, func(c *ledgertest.Call) error {
		switch {
		case c.Method == "acquire" && !failed:
			failed = true
			return errors.New("connection reset")
		case c.Method == "delete":
			log, err := inner.Load(t.Context(), key)
			if err != nil || !log.Head.HeldAt(time.Now()) {
				t.Errorf("got %+v, %v, want a run that is held while it is deleted", log, err)
			}
		}
		return c.Do()
	})
	if n, err := record.DeleteEnded(t.Context(), store, record.Query{}); n != 1 || err != nil {
		t.Errorf("got %d deleted, %v, want one", n, err)
	}
}

// Runs that cannot be deleted keep no other run, whatever their number.
func TestDeleteEndedGoesOn(t *testing.T) {
	inner := record.NewMemory()
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "deletable"} {
		keep(t, inner, run.Key{ID: id}, "a", &ledger.Ended{Status: run.StatusFinished})
	}
	store := ledgertest.Watch(inner, func(c *ledgertest.Call) error {
		if c.Method == "delete" && c.Key.ID != "deletable" {
			return errors.New("this one is stuck")
		}
		return c.Do()
	})
	n, err := record.DeleteEnded(t.Context(), store, record.Query{})
	if n != 1 || err == nil || strings.Count(err.Error(), "this one is stuck") != 10 || !strings.HasSuffix(err.Error(), "and 3 more") {
		t.Errorf("got %d deleted, %v, want 1, ten reasons and the number of others", n, err)
	}
}

// Old runs can be deleted from a disk that is full, but not those that have got another input.
func TestDeleteEndedOnAFullDisk(t *testing.T) {
	inner := record.NewMemory()
	for _, id := range []string{"one", "two"} {
		keep(t, inner, run.Key{ID: id}, "a", &ledger.Ended{Status: run.StatusFinished})
	}
	once := sync.OnceFunc(func() { extend(t, inner, run.Key{ID: "two"}, &ledger.Said{}) })
	store := interfering(inner, func(key run.Key) error {
		if key.ID == "two" {
			once()
		}
		return errors.New("no space left on device") // for the lease
	})
	if n, err := record.DeleteEnded(t.Context(), store, record.Query{}); n != 1 || err != nil {
		t.Errorf("got %d deleted, %v, want one", n, err)
	}
	_, err := inner.Load(t.Context(), run.Key{ID: "two"})
	check(t, err)
}

// A change that is based on a deleted run does not reach the one that has its key now.
func TestCancelOfADeletedRun(t *testing.T) {
	inner, key := record.NewMemory(), run.Key{ID: "run_1"}
	check(t, suspended(t.Context(), inner, key))
	times := 0
	store := interfering(inner, func(key run.Key) error {
		if times++; times == 1 {
			check(t, inner.Delete(t.Context(), key))
			check(t, suspended(t.Context(), inner, key))
		}
		return nil
	})
	check(t, record.CancelRun(t.Context(), store, key))
	log, err := inner.Load(t.Context(), key)
	check(t, err)
	if log.Head.Status != run.StatusCancelled || !log.Head.HeldUntil.IsZero() {
		t.Errorf("got %+v, want a cancelled run that is free", log.Head)
	}
	for key, err := range record.Verify(t.Context(), inner, record.Query{}) {
		t.Errorf("run %s: %v", key.ID, err)
	}
}

func TestTenantOfMemory(t *testing.T) {
	storetest.Tenant(t, func(*testing.T) (record.Store, func(run.Key, int64) record.Store) {
		store := record.NewMemory()
		return store, func(key run.Key, size int64) record.Store {
			record.GrowBlobs(store, key, size)
			return store
		}
	})
}
