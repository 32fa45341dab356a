package lc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/chains"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestChain(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}})
	var streamed strings.Builder
	answer := check.Value(chains.Run(t.Context(), lc.Chain(a), "What do I need in Oslo?",
		chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error { streamed.Write(chunk); return nil })))(t)
	check.Equal(t, "answer", answer, "Take sunglasses.")
	check.Equal(t, "streamed", streamed.String(), answer)
}

func TestChainKeepsAConversation(t *testing.T) {
	model := play(says("Hello."), says("Again?"))
	a := newAgent(t, model, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}})
	chain := lc.Chain(a, agent.WithRun("ada"))
	for _, input := range []string{"Hi", "Hi again"} {
		check.Must(t, check.Err(chains.Run(t.Context(), chain, input)))
	}
	check.Equal(t, "messages for the second input", len(model.seen[1]), 3)
}

func TestChainWaits(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: record.NewMemory()}})
	check.Is(t, check.Err(chains.Run(t.Context(), lc.Chain(a, agent.WithRun("ada")), "What do I need?")), agent.ErrWaiting)
	key := run.Key{ID: "ada"}
	questions := check.Value(a.Questions(t.Context(), key))(t)
	check.Equal(t, "answer", check.Value(a.Resume(t.Context(), key, questions[0].Allow()))(t).Output, "Take sunglasses.")
}

// promptPerson stores a reply as soon as a run waits for one.
type promptPerson struct {
	record.Store
}

func (s promptPerson) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	if err := s.Store.Append(ctx, l, head, records, replies...); err != nil || head.Status != run.StatusWaiting {
		return err
	}
	return s.Store.Reply(ctx, head.Key, []run.Reply{{Question: head.QuestionIDs[0], Action: run.ActionAllow}})
}

// A run that gets a reply before its process has left it continues.
func TestChainContinues(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: promptPerson{record.NewMemory()}}})
	answer := check.Value(chains.Run(t.Context(), lc.Chain(a, agent.WithRun("ada")), "What do I need?"))(t)
	check.Equal(t, "answer", answer, "Take sunglasses.")
}

func TestChainRefuses(t *testing.T) {
	stop := errors.New("stop")
	streaming := chains.WithStreamingFunc(func(context.Context, []byte) error { return stop })
	for _, test := range []struct {
		name    string
		model   *script
		input   any
		options []chains.ChainCallOption
		want    string
	}{
		{"an input that is not text", play(), 7, nil, "give a string"},
		{"options of the model", play(), "Hi", []chains.ChainCallOption{chains.WithTemperature(1)}, "agent.Options.Model"},
		{"an option that is 0", play(), "Hi", []chains.ChainCallOption{chains.WithTemperature(0)}, "agent.Options.Model"},
		{"a stream that fails", play(says("Hello.")), "Hi", []chains.ChainCallOption{streaming}, "stop"},
		{"a model that fails", play(), "Hi", nil, "overloaded"},
	} {
		test.model.err = errors.New("overloaded")
		check.Text(t, check.Err(chains.Run(t.Context(), lc.Chain(newAgent(t, test.model, nil)), test.input, test.options...)), test.want, test.name)
	}
}
