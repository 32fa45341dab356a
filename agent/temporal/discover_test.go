package temporal_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/temporal"
)

// searcher is a model that searches twice, calls what it found, and reads in its long result.
// It notes its tools at the end.
type searcher struct{ got string }

func (*searcher) Info() model.Info { return model.Info{Whole: true} }

func (m *searcher) Generate(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
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
		m.got = ""
		for _, t := range r.Tools {
			m.got += t.Name + " "
		}
		reply := run.Message{Role: run.RoleAssistant, Parts: []run.Part{call}}
		if turn > 3 {
			reply = run.Text(run.RoleAssistant, last)
		}
		yield(model.Delta{Response: &model.Response{Message: reply}}, nil)
	}
}

// TestDiscovery lets a worker die before or after any write. What the model has found stays
// found, in order, and a kept result has the same bytes.
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
	tools := adapter.Merge(all...)
	play := func(d *dying) {
		w, m := newWorld(), new(searcher)
		d.Store, w.store = w.store, d
		a, err := agent.New(m, &agent.Options{Name: "helper", Durable: agent.Durable{Store: d, LeaseTTL: time.Second}, Tools: []adapter.Source{tools}})
		check(t, err)
		env := begin(t, a, nil)
		env.SetOnActivityStartedListener(d.revive)
		env.ExecuteWorkflow("mcpchain.Run", theJob())
		var got temporal.Outcome
		if err := env.GetWorkflowResult(&got); err != nil || got.Status != run.StatusFinished {
			t.Fatalf("died at write %d, kept %v: got %+v, %v", d.at, d.keep, got, err)
		}
		s := w.state(t)
		if m.got != "search_tools valve_90 valve_89 read_result " || len(s.Kept) != 1 || s.Output != "[lines 1000 to 1000 of 2001]\n1000: 7 bar\n" {
			t.Fatalf("died at write %d, kept %v: the model has %q, and the run kept %v and answers %q", d.at, d.keep, m.got, s.Kept, s.Output)
		}
		names, err := d.Blobs(t.Context(), key)
		if err != nil || len(names) != 1 || names[0] != s.Kept[0].Handle {
			t.Errorf("died at write %d, kept %v: got the blobs %q, %v", d.at, d.keep, names, err)
		}
		if data, err := d.Blob(t.Context(), key, s.Kept[0].Handle); err != nil || string(data) != readings.String() {
			t.Errorf("died at write %d, kept %v: got other bytes of the result, %v", d.at, d.keep, err)
		}
	}
	undisturbed := new(dying)
	play(undisturbed)
	if undisturbed.writes < 8 {
		t.Fatalf("got %d writes", undisturbed.writes)
	}
	for at := 1; at <= undisturbed.writes; at++ {
		for _, keep := range []bool{false, true} {
			play(&dying{at: at, keep: keep})
		}
	}
}
