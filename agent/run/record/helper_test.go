package record_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// written is the records of changes, a second apart.
func written(t testing.TB, changes ...record.Change) []record.Record {
	t.Helper()
	out, err := record.Encode(records(changes...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// suspended keeps a run that asks whether a call may run.
func suspended(ctx context.Context, store record.Store, key run.Key) error {
	state := new(record.State)
	records, err := state.Add(time.Now(),
		&record.Begun{V: record.Version, ID: key.ID, Tenant: key.Tenant, Messages: []run.Message{run.Text(run.RoleUser, "Note it.")}},
		&record.Called{},
		&record.Responded{Calls: []record.Call{{ID: "call_1", Key: "k", Name: "write", Asked: `{"path":"/etc/passwd"}`, At: record.CallProposed}}},
		&record.Opened{Question: run.Question{ID: "ask_1", Kind: run.QuestionApproval, Call: "call_1", Tool: "write", Arguments: json.RawMessage(`{"path":"/etc/passwd"}`), Survives: true}},
		&record.Suspended{},
	)
	if err != nil {
		return err
	}
	lease, err := store.Create(ctx, record.Holder{Name: "worker 1", TTL: time.Minute}, record.HeadOf(state), records)
	if err != nil {
		return err
	}
	return store.Release(ctx, lease)
}
