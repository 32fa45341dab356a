package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// TestDeleteEnded deletes the runs that are over and old, in batches, and no others.
func TestDeleteEnded(t *testing.T) {
	store := run.NewMemory()
	for i := range 250 {
		keep(t, store, run.Key{ID: fmt.Sprint("over ", i)}, "a", &run.Ended{Status: run.StatusFinished})
	}
	keep(t, store, run.Key{ID: "failed"}, "a", &run.Ended{Status: run.StatusFailed})
	keep(t, store, run.Key{ID: "waits"}, "a", opens("q", run.AskApproval), &run.Suspended{})
	keep(t, store, run.Key{ID: "other"}, "b", &run.Ended{Status: run.StatusCancelled})
	count := func() (n int) {
		for range store.List(t.Context(), run.Query{}) {
			n++
		}
		return n
	}
	later := time.Now().AddDate(10, 0, 0)
	for _, step := range []struct {
		query         run.Query
		deleted, left int
	}{
		{run.Query{Before: start.AddDate(-1, 0, 0)}, 0, 253},
		{run.Query{Before: later, Limit: 3}, 3, 250},
		{run.Query{Before: later, Status: run.StatusFailed}, 1, 249},
		{run.Query{Before: later, Agents: []string{"a"}}, 247, 2},
		{run.Query{}, 1, 1},
		{run.Query{}, 0, 1},
	} {
		if n, err := run.DeleteEnded(t.Context(), store, step.query); err != nil || n != step.deleted || count() != step.left {
			t.Errorf("%+v: deleted %d and left %d, %v, want %d and %d", step.query, n, count(), err, step.deleted, step.left)
		}
	}
	if _, err := run.DeleteEnded(t.Context(), store, run.Query{Status: run.StatusWaiting}); err == nil || !strings.Contains(err.Error(), "not over") {
		t.Errorf("runs that wait: got %v", err)
	}
}

// changed is a store whose logs are not as they were written.
type changed struct {
	run.Store
	change func(*run.Log)
}

func (c changed) Load(ctx context.Context, key run.Key) (*run.Log, error) {
	log, err := c.Store.Load(ctx, key)
	if err == nil {
		c.change(log)
	}
	return log, err
}

// TestVerify finds what is wrong with a run, and nothing in others.
func TestVerify(t *testing.T) {
	store := run.NewMemory()
	keep(t, store, run.Key{ID: "one"}, "a", opens("q", run.AskApproval), &run.Suspended{})
	s := fold(t, []run.Change{begun[0]})
	snapshot, err := run.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*run.Log)
		want   string
	}{
		"fine":            {func(*run.Log) {}, ""},
		"another status":  {func(l *run.Log) { l.Head.Status = run.StatusFinished }, "its head is"},
		"a question less": {func(l *run.Log) { l.Head.Asks = nil }, "its head is"},
		"a record less":   {func(l *run.Log) { l.Records = l.Records[1:] }, "apply record"},
		"another snapshot": {func(l *run.Log) {
			l.Records = append(l.Records[:1:1], run.Record{Seq: 2, At: l.Records[1].At, Change: snapshot}, run.Record{Seq: 3, At: l.Records[2].At, Change: &run.Suspended{}})
			state, err := run.Fold(l.Records)
			if err != nil {
				t.Fatal(err)
			}
			l.Head = run.HeadOf(state)
		}, "its snapshot in record 2: it leads to another state"},
	} {
		var got []string
		for key, err := range run.Verify(t.Context(), changed{store, tt.change}, run.Query{}) {
			if key.ID != "one" || !errors.Is(err, run.ErrCorrupt) {
				t.Errorf("%s: got %v, %v", name, key, err)
			}
			got = append(got, err.Error())
		}
		if len(got) > 1 || (len(got) == 1) != (tt.want != "") || len(got) == 1 && !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestImportRefuses has exported runs that are cut, changed, or of another kind.
func TestImportRefuses(t *testing.T) {
	store := run.NewMemory()
	key := run.Key{Tenant: "acme", ID: "one"}
	keep(t, store, key, "a", opens("q", run.AskApproval), &run.Suspended{})
	var out bytes.Buffer
	if err := run.Export(t.Context(), store, key, &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	lines := strings.SplitAfter(text, "\n")
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":          {"", "not an exported run"},
		"another file":     {`{"a":1}`, "mcpchain_run is 0"},
		"a later form":     {strings.Replace(text, `"mcpchain_run":1`, `"mcpchain_run":3`, 1), "mcpchain_run is 3"},
		"a cut":            {strings.Join(lines[:2], ""), "record 2: unexpected EOF"},
		"no end":           {strings.Join(lines[:len(lines)-2], ""), "the last line: unexpected EOF"},
		"a changed byte":   {strings.Replace(text, `"status":"waiting"`, `"status":"running"`, 1), "its checksum is wrong"},
		"a changed record": {strings.Replace(text, "approval", "Approval", 1), "its checksum is wrong"},
	} {
		into := run.NewMemory()
		if _, err := run.Import(t.Context(), into, strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if _, err := into.Load(t.Context(), key); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("%s: got %v, want nothing kept", name, err)
		}
	}
	if _, err := run.Import(t.Context(), store, strings.NewReader(text)); !errors.Is(err, run.ErrExists) {
		t.Errorf("a run that is there: got %v", err)
	}
	if err := run.Export(t.Context(), store, run.Key{ID: "nobody"}, &out); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("a run that is not there: got %v", err)
	}
}
