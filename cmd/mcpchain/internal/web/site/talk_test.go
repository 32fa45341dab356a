package site_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/internal/check"
)

type payment struct {
	Number int `json:"number"`
}

// paying is a tool that says who has paid.
func paying() adapter.Source {
	return adapter.Func("pay", "Pays a bill.", func(ctx context.Context, in payment) (string, error) {
		return "paid by " + hosting.User(ctx), nil
	}, nil)
}

// TestStreamResumes has a window continue at each event where its stream may have stopped.
func TestStreamResumes(t *testing.T) {
	model := agenttest.Play(
		agenttest.CallTools(agenttest.ToolCall{Tool: "pay", Arguments: `{"number":1}`}, agenttest.ToolCall{Tool: "pay", Arguments: `{"number":2}`}),
		agenttest.Say("**Done.**"), agenttest.Say("Bye."))
	w := serve(t, site.Limits{Streams: 100}, record.NewMemory(), model, paying())
	id := w.begin(t, "Ada", "Pay both bills.")
	first := w.watch(t, "Ada", id, "")
	var asks []string
	for len(asks) < 2 { // side by side
		asks = append(asks, first.last(t, "asked").member(t, "id"))
	}
	w.answer(t, "Ada", id, map[string]any{"ask": asks[1], "action": "allow"})
	w.answer(t, "Ada", id, map[string]any{"ask": asks[0], "action": "deny", "reason": "not this one"})
	first.until(t, "ended")
	w.post(t, "Ada", "/api/conversations/"+id+"/messages", map[string]string{"text": "Thanks."})
	first.until(t, "ended")

	all := w.watch(t, "Ada", id, "").until(t, "ended")
	all = append(all, w.watch(t, "Ada", id, all[len(all)-1].ID).until(t, "ended")...)
	got := kinds(all)
	for _, want := range []string{"said reply", "asked", "answered", "result", "reply ended said reply ended"} {
		check.Contains(t, "", got, want)
	}
	check.Contains(t, "the answer", all[len(all)-2].member(t, "text"), "Bye.")
	var paid []string
	for _, e := range all {
		if e.Type == "result" {
			paid = append(paid, e.member(t, "text"))
		}
	}
	text := strings.Join(paid, "; ")
	check.That(t, strings.Contains(text, "paid by Ada") && strings.Contains(text, "not this one") && len(paid) == 2, "got the results %q", text)
	for i, e := range all[:len(all)-1] {
		rest := w.watch(t, "Ada", id, e.ID)
		for _, want := range all[i+1:] {
			got := rest.until(t, want.Type)
			check.Require(t, len(got) == 1 && got[0].ID == want.ID, "after %s: got %v, want the event %s alone", e.ID, got, want.ID)
		}
		rest.close()
	}
}
