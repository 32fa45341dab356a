package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// largeAgent asks for n results of so many bytes in one turn.
func largeAgent(t *testing.T, store record.Store, n int, text string) *agent.Agent {
	large := adapter.Func("large", "Gives much.", func(context.Context, struct{}) (string, error) { return text, nil },
		&adapter.FuncOptions{ReadOnly: true, Options: &adapter.Options{Policy: adapter.Policy{MaxResult: len(text)}}})
	var calls []run.Part
	for i := range n {
		calls = append(calls, toolCall(fmt.Sprint("c", i), "large", `{}`))
	}
	return newAgent(t, play(uses(calls...), says("so much")), &agent.Options{Durable: agent.Durable{Store: store, ResultTokens: -1}, Tools: []adapter.Source{large}})
}

// TestTurnLargerThanACommit has a turn whose results are more than the store keeps at once: they are kept in several writes.
func TestTurnLargerThanACommit(t *testing.T) {
	store := inFiles(t, filestore.SyncNever)
	a := largeAgent(t, store, 8, strings.Repeat("much", 5<<18)) // 40 MiB
	got, err := a.Run(t.Context(), human("go"), agent.In("r"))
	if err != nil || got.Output != "so much" {
		t.Fatalf("got %q, %v", got.Output, err)
	}
	log := load(t, store, theRun)
	kept := 0
	for _, o := range changesOf[*ledger.Outcome](log.Records) {
		if len(o.Result.Text) == 5<<20 {
			kept++
		}
	}
	if kept != 8 {
		t.Errorf("got %d results that are whole, want 8", kept)
	}
}

// TestResultTooLargeToKeep has a result that no store would keep: the model is told, and the run goes its way.
func TestResultTooLargeToKeep(t *testing.T) {
	for _, store := range []record.Store{inFiles(t, filestore.SyncNever), nil} {
		a := largeAgent(t, store, 1, strings.Repeat("\x01", 6<<20)) // 36 MiB as JSON
		got, err := a.Run(t.Context(), human("go"))
		if err != nil || got.Output != "so much" {
			t.Fatalf("got %q, %v", got.Output, err)
		}
		kept := results(agent.Inside(got.State).History)[0]
		if left := strings.Contains(kept, "is left out: it has 36 MiB, and at most 32 are kept with a run"); left != (store != nil) {
			t.Errorf("with a store %v: got a result of %d bytes: %.200q", store != nil, len(kept), kept)
		}
	}
}
