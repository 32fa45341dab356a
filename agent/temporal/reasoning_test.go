package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// dying is a process that dies once at a write to its store, before or after it. The next attempt of
// an activity is another process.
type dying struct {
	store      record.Store
	at, writes int
	keep       bool
	dead       atomic.Bool
}

var errDead = fmt.Errorf("the process has died: %w", record.ErrConflict)

// revive starts the next process, after the lease of the dead one.
func (d *dying) revive(*activity.Info, context.Context, converter.EncodedValues) {
	if !d.dead.Swap(false) {
		return
	}
	if log, err := d.store.Load(context.Background(), key); err == nil {
		_ = d.store.Release(context.Background(), record.Lease{Key: key, Epoch: log.Head.Epoch}) // otherwise the next process waits for its end
	}
}

// call makes a call of the store, unless the process dies before it or has died.
func (d *dying) call(c *ledgertest.Call) error {
	if d.dead.Load() {
		return errDead
	}
	if c.Method != "append" && c.Method != "put" {
		return c.Do()
	}
	if d.writes++; d.writes != d.at {
		return c.Do()
	}
	d.dead.Store(true)
	if d.keep {
		return errors.Join(errDead, c.Do())
	}
	return errDead
}

// dieAtEachWrite drives a run of an agent with a tool, whose worker dies before or after any of at
// least some writes. ended checks each run.
func dieAtEachWrite(t *testing.T, m agent.Model, tools adapter.Source, least int, ended func(about string, s *ledger.State, d *dying)) {
	t.Helper()
	play := func(d *dying) {
		w := newWorld()
		d.store = ledgertest.Watch(w.store, d.call)
		w.store = d.store
		a, err := agent.New(m, &agent.Options{Name: "helper", Durable: agent.Durable{Store: d.store, LeaseTTL: time.Second}, Tools: []adapter.Source{tools}})
		check(t, err)
		env := begin(t, a, nil)
		env.SetOnActivityStartedListener(d.revive)
		env.ExecuteWorkflow("mcpchain.Run", theJob())
		about := fmt.Sprintf("died at write %d, kept %v", d.at, d.keep)
		if err := env.GetWorkflowError(); err != nil {
			t.Fatalf("%s: %v", about, err)
		}
		ended(about, w.state(t), d)
	}
	undisturbed := new(dying)
	play(undisturbed)
	if undisturbed.writes < least {
		t.Fatalf("got %d writes", undisturbed.writes)
	}
	for at := 1; at <= undisturbed.writes; at++ {
		for _, keep := range []bool{false, true} {
			play(&dying{at: at, keep: keep})
		}
	}
}

// TestReasoning lets a worker die before or after any write. The model, which thinks and makes two calls, gets back its
// thoughts unchanged, with the calls that followed.
func TestReasoning(t *testing.T) {
	var got string // the thought that the model got back last
	thinks := modelFunc(func(r *model.Request) *model.Response {
		reply := run.Message{Role: run.RoleAssistant, Parts: []run.Part{
			{Type: run.PartReasoning, Text: "Two <calls>.", Provider: map[string]json.RawMessage{"host": json.RawMessage(`{"item":{"encrypted_content":"gAA+/ü==","id":"rs_1"}}`)}},
			{Type: run.PartCall, ID: "1", Name: "look", Arguments: `{}`}, {Type: run.PartCall, ID: "2", Name: "look", Arguments: `{}`},
		}}
		if len(r.Messages) > 1 {
			thought := r.Messages[1].Parts[0]
			got = thought.Text + " " + string(thought.Provider["host"])
			reply = run.Text(run.RoleAssistant, "done")
		}
		return &model.Response{Message: reply, Endpoint: "responses"}
	})
	look := adapter.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil }, &adapter.FuncOptions{ReadOnly: true})
	dieAtEachWrite(t, thinks, look, 4, func(about string, s *ledger.State, _ *dying) {
		const want = `Two <calls>. {"item":{"encrypted_content":"gAA+/ü==","id":"rs_1"}}`
		if got != want || s.Endpoint != "responses" || s.Output != "done" {
			t.Errorf("%s: the model got %q, and the run is at %q with %q", about, got, s.Endpoint, s.Output)
		}
		got = ""
	})
}
