package lc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

var ada = run.Key{ID: "ada"}

func same(t *testing.T, h schema.ChatMessageHistory, want ...llms.ChatMessage) {
	t.Helper()
	messages := check.Value(h.Messages(t.Context()))(t)
	check.Same(t, "messages", messages, want)
}

func TestHistory(t *testing.T) {
	h := lc.History(record.NewMemory(), ada, "agent")
	same(t, h)
	call := llms.ToolCall{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: "{}"}}
	all := []llms.ChatMessage{
		llms.SystemChatMessage{Content: "Be brief."}, llms.HumanChatMessage{Content: "Hi"},
		llms.AIChatMessage{Content: "Wait.", ToolCalls: []llms.ToolCall{call}}, llms.ToolChatMessage{ID: "1", Content: "Sunny."},
		llms.AIChatMessage{Content: "Sunny."},
	}
	for _, m := range all {
		check.Must(t, h.AddMessage(t.Context(), m))
	}
	same(t, h, all...)
	check.Must(t, h.SetMessages(t.Context(), all[1:2]))
	check.Must(t, h.AddAIMessage(t.Context(), "Hello."))
	same(t, h, all[1], llms.AIChatMessage{Content: "Hello."})
	for range 2 { // the second finds no run
		check.Must(t, h.Clear(t.Context()))
	}
	same(t, h)
}

func TestHistoryOfARun(t *testing.T) {
	store := record.NewMemory()
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Sunny."), says("Hello."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}, Durable: agent.Durable{Store: store}})
	h := lc.History(store, ada, a.Name())
	check.Must(t, h.AddUserMessage(t.Context(), "I am Ada."))
	check.Must(t, check.Err(a.Run(t.Context(), agent.Text("Weather?"), agent.WithRun(ada.ID))))
	call := llms.ToolCall{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "forecast", Arguments: `{"city":"Oslo"}`}}
	same(t, h, llms.HumanChatMessage{Content: "I am Ada."}, llms.HumanChatMessage{Content: "Weather?"},
		llms.AIChatMessage{ToolCalls: []llms.ToolCall{call}}, llms.ToolChatMessage{ID: "1", Content: "Sunny."}, llms.AIChatMessage{Content: "Sunny."})
	check.Fails(t, check.Err(lc.History(store, ada, "other").Messages(t.Context())), "the history is read for another agent")
}

// A run that waits, or that is held, keeps its history.
func TestHistoryOfAnOpenRun(t *testing.T) {
	store := record.NewMemory()
	model := play(uses("1", "forecast", `{"city":"Oslo"}`))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}, Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	check.Must(t, check.Err(a.Run(t.Context(), agent.Text("Weather?"), agent.WithRun(ada.ID))))
	h := lc.History(store, ada, a.Name())
	refused := func(match error) {
		t.Helper()
		for name, err := range map[string]error{
			"add": h.AddUserMessage(t.Context(), "Hi"), "set": h.SetMessages(t.Context(), nil), "clear": h.Clear(t.Context()),
		} {
			check.That(t, err != nil && (match == nil || errors.Is(err, match)), "%s: error %v", name, err)
		}
		same(t, h, llms.HumanChatMessage{Content: "Weather?"})
	}
	refused(nil)
	check.Must(t, check.Err(store.Acquire(t.Context(), ada, record.Holder{Name: "other", TTL: time.Hour})))
	refused(record.ErrHeld)
}
