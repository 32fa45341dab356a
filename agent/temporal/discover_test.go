package temporal_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/temporal"
)

// searcher is a model that searches twice, and notes the tools that it has in the end.
type searcher struct{ got string }

func (*searcher) Info() model.Info { return model.Info{Whole: true} }

func (m *searcher) Generate(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		reply := run.Text(run.RoleAssistant, "done")
		if turn := len(r.Messages) / 2; turn < 3 {
			call := run.Part{Type: run.PartCall, ID: fmt.Sprint(turn), Name: "search_tools", Arguments: fmt.Sprintf(`{"query":"select:valve_%d"}`, 90-turn)}
			if turn == 2 {
				call.Name, call.Arguments = "valve_89", `{}`
			}
			reply = run.Message{Role: run.RoleAssistant, Parts: []run.Part{call}}
		}
		m.got = ""
		for _, t := range r.Tools {
			m.got += t.Name + " "
		}
		yield(model.Delta{Reply: &model.Reply{Message: reply}}, nil)
	}
}

// What a model found stays found, in its order, if a worker dies before or after any write.
func TestDiscovery(t *testing.T) {
	var all []adapter.Source
	for i := range 300 {
		about := fmt.Sprintf("Reads the pressure at valve %d, which stands in the long hall behind the plant.", i)
		all = append(all, adapter.Func(fmt.Sprint("valve_", i), about, func(context.Context, struct{}) (string, error) { return "7 bar", nil }, &adapter.FuncOptions{ReadOnly: true}))
	}
	tools := adapter.Merge(all...)
	play := func(d *dying) (string, *run.State) {
		w, m := newWorld(), new(searcher)
		d.Store, w.store = w.store, d
		a, err := agent.New(m, &agent.Options{Name: "helper", Store: d, Tools: []adapter.Source{tools}, LeaseTTL: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		env := begin(t, a, nil)
		env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { d.dead.Store(false) })
		env.ExecuteWorkflow("mcpchain.Run", theJob())
		var got temporal.Outcome
		if err := env.GetWorkflowResult(&got); err != nil || got.Status != run.StatusFinished {
			t.Fatalf("died at write %d, kept %v: got %+v, %v", d.at, d.keep, got, err)
		}
		return m.got, w.state(t)
	}
	undisturbed := new(dying)
	play(undisturbed)
	for at := 1; at <= undisturbed.writes; at++ {
		keep := at%2 == 0
		if got, s := play(&dying{at: at, keep: keep}); got != "search_tools valve_90 valve_89 " || len(s.Offered) != 2 || s.Answer != "done" {
			t.Errorf("died at write %d, kept %v: the model has %q, and the run %v", at, keep, got, s.Offered)
		}
	}
}
