package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

var begun = []ledger.Change{&ledger.Begun{V: ledger.Version, ID: "run_1", Messages: []run.Message{run.Text(run.RoleUser, "go")}}}

func call(id string) ledger.Call {
	return ledger.Call{ID: id, Key: "key_" + id, Name: "echo", At: ledger.CallProposed, Asked: `{}`}
}

func with(changes []ledger.Change, more ...ledger.Change) []ledger.Change {
	return append(changes[:len(changes):len(changes)], more...)
}

// nested returns a record of the sub-agent that works on call 1.
func nested(seq uint64, c ledger.Change) ledger.Change {
	return &ledger.Nested{Call: "1", Record: ledger.Entry{Seq: seq, At: start, Change: c}}
}

// everything returns the changes of a run that uses every feature, up to some open questions.
func everything(t testing.TB) (changes []ledger.Change) {
	t.Helper()
	for line := range bytes.Lines(check.Value(os.ReadFile("../testdata/v1.3/run.log"))(t)) {
		var e ledger.Entry
		check.Must(t, json.Unmarshal(line, &e))
		changes = append(changes, e.Change)
	}
	return changes
}

// draft applies changes, a second apart, and returns the state and the records.
func draft(changes ...ledger.Change) (*ledger.State, []run.Record) {
	d := &ledgertest.Draft{State: new(ledger.State), Begin: start, Pace: time.Second}
	d.Add(changes...)
	return d.State, d.Records
}

// suspended stores a run that asks whether a call may run.
func suspended(ctx context.Context, store record.Store, key run.Key) error {
	d := ledgertest.Since(time.Now(),
		&ledger.Begun{ID: key.ID, Tenant: key.Tenant, Messages: []run.Message{run.Text(run.RoleUser, "Note it.")}},
		&ledger.Called{},
		&ledger.Responded{Calls: []ledger.Call{{ID: "call_1", Key: "k", Name: "write", Asked: `{"path":"/etc/passwd"}`, At: ledger.CallProposed}}},
		&ledger.Opened{Question: run.Question{ID: "ask_1", Kind: run.QuestionApproval, Call: "call_1", Tool: "write", Arguments: json.RawMessage(`{"path":"/etc/passwd"}`), Survives: true}},
		&ledger.Suspended{},
	)
	lease, err := store.Create(ctx, record.Holder{Name: "worker 1", TTL: time.Minute}, d.Head(), d.Records)
	if err != nil {
		return err
	}
	return store.Release(ctx, lease)
}
