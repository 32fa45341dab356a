package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// TestPrunedRun has a conversation continue whose old records are gone: the model reads the same history, and a replay says what is missing.
func TestPrunedRun(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) { prunedRun(t, open(t)) })
	}
}

func prunedRun(t *testing.T, store record.Store) {
	var read int
	m := instant{func(ctx context.Context, p prompt) (*model.Response, error) {
		read = len(p.Request.Messages)
		return says(fmt.Sprint("answer ", read))(ctx, p)
	}}
	a := newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store}})
	inputs := 0
	input := func() {
		t.Helper()
		inputs++
		mustRun(t, a, human(fmt.Sprint("input ", inputs)), agent.In(theRun.ID))
	}
	for {
		input()
		if log, err := store.Load(t.Context(), theRun); err != nil {
			t.Fatal(err)
		} else if log.Head.Snapshot > 0 {
			break
		}
	}
	if n, err := record.Prune(t.Context(), store, record.Query{}); err != nil || n != 1 {
		t.Fatalf("got %d, %v, want a run that is pruned", n, err)
	}
	input()
	if read != 2*inputs-1 {
		t.Errorf("the model read %d messages, want %d", read, 2*inputs-1)
	}
	var first agent.Event
	var last string
	for e := range each(t, a.Replay(t.Context(), theRun, agent.Position{})) {
		if first == nil {
			first = e
		}
		if answer, ok := e.(*agent.Output); ok {
			last = answer.Text
		}
	}
	if w, ok := first.(*agent.Warning); !ok || !strings.Contains(w.Text, "are gone") {
		t.Errorf("the replay begins with %T, want a warning", first)
	}
	if want := fmt.Sprint("answer ", read); last != want {
		t.Errorf("the replay ends with %q, want %q", last, want)
	}
	for key, err := range record.Verify(t.Context(), store, record.Query{}) {
		t.Errorf("verify: got %v, %v", key, err)
	}
}
