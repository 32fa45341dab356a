package lc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestChain(t *testing.T) {
	log := &handler{}
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}})
	var streamed strings.Builder
	answer, err := chains.Run(t.Context(), lc.Chain(a, log), "What do I need in Oslo?",
		chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
			streamed.Write(chunk)
			return nil
		}))
	if err != nil || answer != "Take sunglasses." || streamed.String() != answer {
		t.Errorf("answer %q, streamed %q, %v", answer, streamed.String(), err)
	}
	want := []string{
		"chain start map[input:What do I need in Oslo?]",
		"model start", "model end: forecast({\"city\":\"Oslo\"})", "action 1 forecast {\"city\":\"Oslo\"}",
		"tool start {\"city\":\"Oslo\"}", "tool end Sunny.",
		"model start", "chunk Take sunglasses.", "model end: Take sunglasses.", "finish map[output:Take sunglasses.]",
		"chain end map[output:Take sunglasses.]",
	}
	check.Same(t, "handler", log.lines, want)
}

func TestChainKeepsAConversation(t *testing.T) {
	model := play(says("Hello."), says("Again?"))
	a := newAgent(t, model, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}})
	chain := lc.Chain(a, nil, agent.WithRun("ada"))
	for _, input := range []string{"Hi", "Hi again"} {
		check.Must(t, check.Err(chains.Run(t.Context(), chain, input)))
	}
	check.Equal(t, "messages for the second input", len(model.seen[1]), 3)
}

func TestChainWaits(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Oslo"}`), says("Take sunglasses."))
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: record.NewMemory()}})
	_, err := chains.Run(t.Context(), lc.Chain(a, nil, agent.WithRun("ada")), "What do I need?")
	var waiting *lc.WaitingError
	if !errors.As(err, &waiting) || waiting.Run != "ada" || len(waiting.Questions) != 1 {
		t.Fatalf("error %v", err)
	}
	if !errors.Is(err, agent.ErrWaiting) {
		t.Errorf("error %v does not match agent.ErrWaiting", err)
	}
	result, err := a.Resume(t.Context(), run.Key{ID: waiting.Run}, waiting.Questions[0].Allow())
	if err != nil || result.Output != "Take sunglasses." {
		t.Errorf("answer %q, %v", result.Output, err)
	}
}

func TestChainRefuses(t *testing.T) {
	stop := errors.New("stop")
	for _, test := range []struct {
		name   string
		input  any
		option chains.ChainCallOption
		want   string
	}{
		{"an input that is not text", 7, nil, "give a string"},
		{"options of the model", "Hi", chains.WithTemperature(1), "agent.Options.Model"},
		{"a stream that fails", "Hi", chains.WithStreamingFunc(func(context.Context, []byte) error { return stop }), "stop"},
		{"a model that fails", "Hi", nil, "overloaded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := play()
			if test.want == "stop" {
				model.replies = []*llms.ContentChoice{says("Hello.")}
			}
			model.err = errors.New("overloaded")
			a := newAgent(t, model, nil)
			var options []chains.ChainCallOption
			if test.option != nil {
				options = append(options, test.option)
			}
			_, err := chains.Run(t.Context(), lc.Chain(a, nil), test.input, options...)
			check.Text(t, err, test.want)
		})
	}
}
