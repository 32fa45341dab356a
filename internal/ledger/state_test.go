package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// records numbers changes, a second apart.
func records(changes ...ledger.Change) []ledger.Entry {
	out := make([]ledger.Entry, len(changes))
	for i, c := range changes {
		out[i] = ledger.Entry{Seq: uint64(i + 1), At: start.Add(time.Duration(i) * time.Second), Change: c}
	}
	return out
}

// check ends a test that cannot go on.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLaterVersion keeps records of a later version, and folds none of them.
func TestLaterVersion(t *testing.T) {
	for _, text := range []string{
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"dreamt","data":{"of":[1.0,"<a>"],"b":{}}}`,
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"woken","data":{"by":"a bell"}}`,
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"said","data":{"messages":[{"role":"user","parts":[{"type":"text","text":"hi","tone":1}],"mood":"good"}]}}`,
		`{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"nested","data":{"call":"1","record":{"seq":1,"at":"2026-11-01T12:00:00Z","kind":"dreamt","data":{}}}}`,
	} {
		var r ledger.Entry
		check(t, json.Unmarshal([]byte(text), &r))
		if got, err := r.MarshalJSON(); err != nil || string(got) != text {
			t.Errorf("got %s, %v, want %s", got, err, text)
		}
	}
	later := append(records(begun...), ledger.Entry{Seq: 2, Change: &ledger.Unknown{Kind: "dreamt"}})
	if _, err := ledger.Fold(later); err == nil || !strings.Contains(err.Error(), "(dreamt): its kind is unknown") {
		t.Errorf("got %v, want the kind named", err)
	}
	reply := run.Reply{Question: "1", Action: run.ActionAccept, Content: json.RawMessage(`{"a":"<"}`), Unknown: jsontext.Value(`{"mood":"good"}`)}
	data, err := json.Marshal(reply)
	check(t, err)
	var read run.Reply
	if err := json.Unmarshal(data, &read); err != nil || !read.Equal(reply) {
		t.Errorf("got %+v, %v, want %+v", read, err, reply)
	}
}

// TestLastCall keeps the usage of the last model call, until a compaction or a call that the
// provider has not counted.
func TestLastCall(t *testing.T) {
	counted := run.Spent{Turns: 1, Input: 90, Output: 20, Total: 110, Reasoning: 5}
	replied := with(called, &ledger.Responded{Usage: counted, Size: 300})
	for name, tt := range map[string]struct {
		changes []ledger.Change
		want    ledger.LastCall
	}{
		"counted":          {replied, ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300, Messages: 2}},
		"estimated":        {with(called, &ledger.Responded{Usage: counted, Estimated: true}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Estimated: true, Messages: 2}},
		"during the next":  {with(replied, &ledger.Called{}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300, Messages: 2}},
		"not counted":      {with(replied, &ledger.Called{}, &ledger.Responded{Size: 400}), ledger.LastCall{}},
		"compacted":        {with(replied, &ledger.Compacted{Replaced: 1}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300}},
		"with a new input": {with(replied, &ledger.Ended{Status: run.StatusFinished}, &ledger.Said{}), ledger.LastCall{Input: 90, Output: 20, Reasoning: 5, Size: 300, Messages: 2}},
	} {
		if d := cmp.Diff(tt.want, fold(t, tt.changes).Last); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
