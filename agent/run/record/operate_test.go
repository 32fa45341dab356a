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
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// wantDeleted deletes the ended runs that a query selects.
func wantDeleted(t *testing.T, store record.Store, q record.Query, want int) {
	t.Helper()
	check.Equal(t, fmt.Sprintf("%+v: deleted", q), check.Value(record.DeleteEnded(t.Context(), store, q))(t), want)
}

func keepEnded(t *testing.T, store record.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		keep(t, store, run.Key{ID: id}, "a", &ledger.Ended{Status: run.StatusFinished})
	}
}

// TestDeleteEnded deletes old runs that have ended, and no others.
func TestDeleteEnded(t *testing.T) {
	store := record.NewMemory()
	for i := range 250 {
		keepEnded(t, store, fmt.Sprint("over ", i))
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
		wantDeleted(t, store, step.query, step.deleted)
		check.Equal(t, fmt.Sprintf("%+v: left", step.query), count(), step.left)
	}
	_, err := record.DeleteEnded(t.Context(), store, record.Query{Status: run.StatusWaiting})
	check.Text(t, err, "not that of an ended run", "runs that wait")
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
	snapshot := check.Value(ledger.NewSnapshot(s))(t)
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
			l.Records = append(l.Records[:1:1], check.Value(ledger.Encode(more...))(t)...)
			l.Head = ledger.HeadOf(check.Value(ledger.StateOf(l.Records))(t))
		}, "its snapshot in record 2: leads to another state"},
	} {
		var got []string
		for key, err := range record.Verify(t.Context(), changed(store, tt.change), record.Query{}) {
			check.That(t, key.ID == "one" && errors.Is(err, record.ErrCorrupt), "%s: got %v, %v", name, key, err)
			got = append(got, err.Error())
		}
		check.That(t, len(got) <= 1 && (len(got) == 1) == (tt.want != "") && (len(got) != 1 || strings.Contains(got[0], tt.want)),
			"%s: got %q, want %q", name, got, tt.want)
	}
}

// TestImportRefuses imports exported runs that are cut, changed, or of another format.
func TestImportRefuses(t *testing.T) {
	store, key := record.NewMemory(), run.Key{Tenant: "acme", ID: "one"}
	keep(t, store, key, "a", opens("q", run.QuestionApproval), &ledger.Suspended{})
	var out bytes.Buffer
	check.Must(t, record.Export(t.Context(), store, key, &out))
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
		check.Text(t, check.Err(record.Import(t.Context(), into, strings.NewReader(tt.text))), tt.want, name)
		check.Is(t, check.Err(into.Load(t.Context(), key)), record.ErrNotFound, name)
	}
	check.Is(t, check.Err(record.Import(t.Context(), store, strings.NewReader(text))), record.ErrExists, "a run that is there")
	check.Is(t, record.Export(t.Context(), store, run.Key{ID: "nobody"}, &out), record.ErrNotFound, "a run that is not there")
}

// TestImportBesideOthers imports runs with a blob and a reply, of one record, one chunk and several, to a slow store, and
// interrupts the import before each of its writes: nobody takes a run before it is whole, and another import completes it.
func TestImportBesideOthers(t *testing.T) { synctest.Test(t, importBesideOthers) }

func importBesideOthers(t *testing.T) {
	key := run.Key{ID: "one"}
	for _, notes := range [][]ledger.Change{nil, ledgertest.Notes("x", 3), ledgertest.Notes(strings.Repeat("x", 5<<20), 3)} {
		for _, open := range []func(record.Store) record.Store{
			func(s record.Store) record.Store { return s },
			func(s record.Store) record.Store { return record.Sealed(s, keys(t, "a")) },
		} {
			from := record.NewMemory()
			d, lease := ledgertest.Create(t, open(from), key, notes...)
			check.Must(t, d.Append(t.Context(), open(from), lease, ledgertest.Question("q")))
			check.Must(t, open(from).Reply(t.Context(), key, []run.Reply{{Question: "q", Action: run.ActionDecline}}))
			check.Must(t, from.PutBlob(t.Context(), lease, "blob", []byte("data")))
			if notes == nil { // one record
				check.Must(t, d.Append(t.Context(), open(from), lease, check.Value(ledger.NewSnapshot(d.State))(t)))
				check.Must(t, from.Prune(t.Context(), lease))
				d.Records = d.Records[len(d.Records)-1:]
			}
			var out bytes.Buffer
			check.Must(t, record.Export(t.Context(), from, key, &out))
			interrupted, left := 0, 0 // how often the import was interrupted, and calls until it is
			into := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
				switch c.Method {
				case "append", "put", "reply", "release":
					c.Ctx = context.WithoutCancel(c.Ctx) // a release has 5 s
					time.Sleep(365 * 24 * time.Hour)     // nobody continues the run a year after the import was killed
					check.Is(t, check.Err(c.Store.Acquire(t.Context(), key, record.Holder{})), record.ErrHeld, c.Method)
					for head := range c.Store.List(t.Context(), record.Query{DueAt: time.Now()}) {
						t.Errorf("%s: got %+v, want a run that is not due", c.Method, head)
					}
					if left == 0 {
						return errInterrupted
					}
					left--
				}
				err := c.Do()
				if c.Log != nil { // the clock of a server may be ahead
					c.Log.Head.HeldUntil = c.Log.Head.HeldUntil.AddDate(100, 0, 0)
				}
				return err
			})
			for ; errors.Is(check.Err(record.Import(t.Context(), into, bytes.NewReader(out.Bytes()))), errInterrupted); left = interrupted {
				interrupted++
			}
			log, err := into.Load(t.Context(), key)
			check.That(t, interrupted >= 3 && err == nil && log.Head.Due(time.Now()) && log.Head.Seq == d.State.Seq && len(log.Records) == len(d.Records) && len(log.Replies) == 1,
				"got %+v, %v, want the run, held by nobody", log.Head, err)
		}
	}
}

// exported is a run with notes, a blob and a reply, and its export.
func exported(t *testing.T, note string) (*ledgertest.Draft, string) {
	from, key := record.NewMemory(), run.Key{ID: "one"}
	d, lease := ledgertest.Create(t, from, key, ledgertest.Notes(note, 3)...)
	check.Must(t, d.Append(t.Context(), from, lease, ledgertest.Question("q")))
	check.Must(t, from.PutBlob(t.Context(), lease, "blob", []byte("data")))
	check.Must(t, from.Reply(t.Context(), key, []run.Reply{{Question: "q", Action: run.ActionDecline}}))
	var out strings.Builder
	check.Must(t, record.Export(t.Context(), from, key, &out))
	return d, out.String()
}

// TestImportTwice imports two exports of a run, the same one or another, at the same time: the second import begins before
// each call of the first, and stops before each of its own until the first has ended. One of them succeeds, and the run is
// whole.
func TestImportTwice(t *testing.T) {
	d, first := exported(t, "x")
	_, another := exported(t, "y")
	for n := range 50 {
		into, began, stopped, resume, other := record.NewMemory(), false, make(chan bool, 2), make(chan bool), make(chan error, 1)
		load := func(out string, before int, do func()) error {
			return check.Err(record.Import(t.Context(), ledgertest.Watch(into, func(c *ledgertest.Call) error {
				if before--; before == -1 {
					do()
				}
				return c.Do()
			}), strings.NewReader(out)))
		}
		second := first
		if n >= 25 {
			second = another
		}
		err := load(first, n%25/5, func() {
			began = true
			go func() { other <- load(second, n%5, func() { stopped <- true; <-resume }); stopped <- true }()
			<-stopped
		})
		close(resume)
		if began {
			secondErr := <-other
			check.That(t, (err == nil) != (secondErr == nil), "%d: got %v and %v, want one success", n, err, secondErr)
		}
		log := check.Value(into.Load(t.Context(), d.Head().Key))(t)
		check.That(t, len(log.Records) == len(d.Records) && len(log.Replies) == 1 && log.Head.Due(time.Now()), "%d: got %+v", n, log.Head)
	}
}

var errInterrupted = errors.New("interrupted")

// TestDeleteInterruptedImport deletes what an import has left, but not what one may be working on.
func TestDeleteInterruptedImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, out := exported(t, "x")
		into := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			if c.Method == "put" {
				return errInterrupted
			}
			return c.Do()
		})
		check.Is(t, check.Err(record.Import(t.Context(), into, strings.NewReader(out))), errInterrupted)
		wantDeleted(t, into, record.Query{}, 0)
		time.Sleep(25 * time.Hour)
		wantDeleted(t, into, record.Query{}, 1)
	})
}

// A sealed run whose head has another number than its last record, with a right checksum: nobody can compare more without keys.
func TestImportOfSealed(t *testing.T) {
	store := record.NewMemory()
	keep(t, record.Sealed(store, keys(t, "k")), run.Key{ID: "one"}, "a", &ledger.Suspended{})
	var out bytes.Buffer
	check.Must(t, record.Export(t.Context(), store, run.Key{ID: "one"}, &out))
	lines := strings.SplitAfter(out.String(), "\n")
	for seq, want := range map[string]string{"4": "", "2": "the head is of record 2", "900": "the head is of record 900"} {
		text := strings.Replace(strings.Join(lines[:5], ""), `"seq":4`, `"seq":`+seq, 1)
		text += fmt.Sprintf("{\"sha256\":\"%x\"}\n", sha256.Sum256([]byte(text)))
		_, err := record.Import(t.Context(), record.NewMemory(), strings.NewReader(text))
		check.That(t, (want != "" || err == nil) && (want == "" || errors.Is(err, record.ErrCorrupt) && strings.Contains(err.Error(), want)),
			"record %s: got %v, want %q", seq, err, want)
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
		if !yield(run.Head{Key: key}, record.ErrDamaged) || q.Limit == 1 {
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
	keepEnded(t, store.Store, "one", "two")
	wantDeleted(t, store, record.Query{Limit: 1}, 1)
	var last error
	for key, err := range record.Verify(ctx, store, record.Query{}) {
		last = err
		check.That(t, key.ID == "damaged" || key.ID == "", "got %v, %v", key, err)
	}
	check.Is(t, last, context.Canceled)
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
	keepEnded(t, inner, "one", "two", "three")
	store := interfering(inner, func(key run.Key) error {
		switch key.ID {
		case "one":
			extend(t, inner, key, &ledger.Said{})
		case "two":
			check.Must(t, check.Err(inner.Acquire(t.Context(), key, record.Holder{TTL: time.Minute})))
		}
		return nil
	})
	wantDeleted(t, store, record.Query{}, 1)
	for id, want := range map[string]error{"one": nil, "two": nil, "three": record.ErrNotFound} {
		log, err := inner.Load(t.Context(), run.Key{ID: id})
		check.That(t, errors.Is(err, want) && (id != "one" || log.Head.HeldUntil.IsZero()), "run %s: got %+v, %v, want %v", id, log, err, want)
	}
}

// After an outage a run is deleted under a lease, as otherwise another process could take it over.
func TestDeleteEndedAfterAnOutage(t *testing.T) {
	inner, key := record.NewMemory(), run.Key{ID: "one"}
	keepEnded(t, inner, key.ID)
	failed := false
	store := ledgertest.Watch(inner, func(c *ledgertest.Call) error {
		switch {
		case c.Method == "acquire" && !failed:
			failed = true
			return errors.New("connection reset")
		case c.Method == "delete":
			log, err := inner.Load(t.Context(), key)
			check.That(t, err == nil && log.Head.HeldAt(time.Now()), "got %+v, %v, want a run that is held while it is deleted", log, err)
		}
		return c.Do()
	})
	wantDeleted(t, store, record.Query{}, 1)
}

// Runs that cannot be deleted keep no other run, whatever their number.
func TestDeleteEndedGoesOn(t *testing.T) {
	inner := record.NewMemory()
	keepEnded(t, inner, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "deletable")
	store := ledgertest.Watch(inner, func(c *ledgertest.Call) error {
		if c.Method == "delete" && c.Key.ID != "deletable" {
			return errors.New("this one is stuck")
		}
		return c.Do()
	})
	n, err := record.DeleteEnded(t.Context(), store, record.Query{})
	check.That(t, n == 1 && err != nil && strings.Count(err.Error(), "this one is stuck") == 10 && strings.HasSuffix(err.Error(), "and 3 more"),
		"got %d deleted, %v, want 1, ten reasons and the number of others", n, err)
}

// Old runs can be deleted from a disk that is full, but not those that have got another input.
func TestDeleteEndedOnAFullDisk(t *testing.T) {
	inner := record.NewMemory()
	keepEnded(t, inner, "one", "two")
	once := sync.OnceFunc(func() { extend(t, inner, run.Key{ID: "two"}, &ledger.Said{}) })
	store := interfering(inner, func(key run.Key) error {
		if key.ID == "two" {
			once()
		}
		return errors.New("no space left on device") // for the lease
	})
	wantDeleted(t, store, record.Query{}, 1)
	check.NoError(t, check.Err(inner.Load(t.Context(), run.Key{ID: "two"})))
}

// A change that is based on a deleted run does not reach the one that has its key now.
func TestCancelOfADeletedRun(t *testing.T) {
	inner, key := record.NewMemory(), run.Key{ID: "run_1"}
	check.Must(t, suspended(t.Context(), inner, key))
	times := 0
	store := interfering(inner, func(key run.Key) error {
		if times++; times == 1 {
			check.Must(t, inner.Delete(t.Context(), key))
			check.Must(t, suspended(t.Context(), inner, key))
		}
		return nil
	})
	check.Must(t, record.CancelRun(t.Context(), store, key))
	head := headOf(t, inner, key)
	check.That(t, head.Status == run.StatusCancelled && head.HeldUntil.IsZero(), "got %+v, want a cancelled run that is free", head)
	for key, err := range record.Verify(t.Context(), inner, record.Query{}) {
		t.Errorf("run %s: %v", key.ID, err)
	}
}

func TestTenantOfMemory(t *testing.T) {
	storetest.Tenant(t, func(*testing.T) (record.Store, func(run.Key, int64) record.Store) {
		store := record.NewMemory()
		return store, func(key run.Key, size int64) record.Store { record.GrowBlobs(store, key, size); return store }
	})
}

// An append to a head without a key is one, and does not create a run.
func TestCheckRecordsOfNoRun(t *testing.T) {
	d := ledgertest.New(run.Key{ID: "one"})
	err := record.CheckRecords(&run.Head{}, record.Lease{}, d.Head(), d.Records)
	check.Text(t, err, `append to run "": the lease and the head are of runs "" and "one"`)
	check.Must(t, record.CheckRecords(nil, record.Lease{}, d.Head(), d.Records))
}
