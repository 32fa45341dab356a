package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	"github.com/mcpchain/mcpchain/internal/check"
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
		check.Must(t, err)
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
	check.Require(t, undisturbed.writes >= least, "got %d writes", undisturbed.writes)
	for at := 1; at <= undisturbed.writes; at++ {
		for _, keep := range []bool{false, true} {
			play(&dying{at: at, keep: keep})
		}
	}
}

// TestDiscovery lets a worker die before or after any write. What the model has found stays found, in order, and a kept
// result has the same bytes. The model searches twice, calls what it found, and reads in its long result.
func TestDiscovery(t *testing.T) {
	var readings strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&readings, "%d: 7 bar\n", i+1)
	}
	var all []adapter.Source
	for i := range 300 {
		about := fmt.Sprintf("Reads the pressure at valve %d, which stands in the long hall behind the plant.", i)
		all = append(all, adapter.Func(fmt.Sprint("valve_", i), about, func(context.Context, struct{}) (string, error) { return readings.String(), nil }, &adapter.FuncOptions{ReadOnly: true}))
	}
	var got string // the tools of the model at the end
	searches := modelFunc(func(r *model.Request) *model.Response {
		last := r.Messages[len(r.Messages)-1].Parts[0].Text
		turn := len(r.Messages) / 2
		call := run.Part{Type: run.PartCall, ID: fmt.Sprint(turn), Name: "search_tools", Arguments: fmt.Sprintf(`{"query":"select:valve_%d"}`, 90-turn)}
		switch turn {
		case 2:
			call.Name, call.Arguments = "valve_89", `{}`
		case 3:
			_, after, _ := strings.Cut(last, `{"handle":"`)
			handle, _, _ := strings.Cut(after, `"`)
			call.Name, call.Arguments = "read_result", fmt.Sprintf(`{"handle":%q,"line":1000,"lines":1}`, handle)
		}
		got = ""
		for _, t := range r.Tools {
			got += t.Name + " "
		}
		if turn > 3 {
			return &model.Response{Message: run.Text(run.RoleAssistant, last)}
		}
		return &model.Response{Message: run.Message{Role: run.RoleAssistant, Parts: []run.Part{call}}}
	})
	dieAtEachWrite(t, searches, adapter.Merge(all...), 8, func(about string, s *ledger.State, d *dying) {
		check.Require(t, got == "search_tools valve_90 valve_89 read_result " && len(s.Kept) == 1 && s.Output == "[lines 1000 to 1000 of 2001]\n1000: 7 bar\n",
			"%s: the model has %q, and the run kept %v and answers %q", about, got, s.Kept, s.Output)
		names, err := d.store.Blobs(t.Context(), key)
		check.That(t, err == nil && len(names) == 1 && names[0] == s.Kept[0].Handle, "%s: got the blobs %q, %v", about, names, err)
		if data, err := d.store.Blob(t.Context(), key, s.Kept[0].Handle); err != nil || string(data) != readings.String() {
			t.Errorf("%s: got other bytes of the result, %v", about, err)
		}
	})
}
