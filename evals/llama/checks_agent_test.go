package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/llama/tiny"
)

// agent runs an agent with tools.
func (t *trial) agent(ctx context.Context, tools *toolbox, whole bool, in agent.Input) (*agent.Result, error) {
	a, err := agent.New(t.llm, &agent.Options{Tools: tools.all, Model: agent.ModelSettings{NoStreaming: whole}})
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, in)
}

// twoTurns has an agent call both tools, and answer.
func twoTurns(ctx context.Context, t *trial) (err error) {
	for _, whole := range []bool{true, false} {
		tools := twoTools(nil)
		r, wrong := t.agent(ctx, tools, whole, agent.Text("Hi"))
		if wrong != nil {
			return wrong
		}
		err = errors.Join(err, want("answer", r.Output, tiny.Answer), want("calls", tools.calls.Load(), 2),
			want("turns", r.Usage.Turns, 2), want("counted tokens", r.Usage.Input > 0, true))
	}
	return err
}

// form is a structured answer.
type form struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
	Sky     string `json:"sky" enum:"clear,cloudy"`
}

// structured wants a structured answer from an agent without tools.
func structured(ctx context.Context, t *trial) error { return t.fill(ctx, &agent.Options{}) }

// structuredWithTools wants one from an agent that calls its tools first.
func structuredWithTools(ctx context.Context, t *trial) error {
	return t.fill(ctx, &agent.Options{Tools: twoTools(nil).all, Limits: run.Limits{Turns: 3}})
}

// fill wants a structured answer from an agent with these options.
func (t *trial) fill(ctx context.Context, o *agent.Options) error {
	a, err := agent.New(t.llm, o)
	if err != nil {
		return err
	}
	got, r, err := agent.RunAs[form](ctx, a, agent.Text("Hi"))
	if err != nil {
		return err
	}
	t.note = fmt.Sprintf("%d turns", r.Usage.Turns)
	return want("sky", got.Sky == "clear" || got.Sky == "cloudy", true)
}

// echo wants each thought of a run in the prompts of later turns, also by another model with the same history.
func echo(ctx context.Context, t *trial) error {
	tools := twoTools(func(n int32) string {
		if n <= 2 { // calls of the first turn
			return tiny.Think
		}
		return "rain"
	})
	r, err := t.agent(ctx, tools, false, agent.Text(tiny.Think))
	if err != nil {
		return err
	}
	if err := errors.Join(want("answer", r.Output, tiny.Answer), want("turns", r.Usage.Turns, 3), t.echoed(ctx), t.open("")); err != nil {
		return err
	}
	if _, err = t.agent(ctx, tools, false, append(agent.Messages(r.Messages...), agent.Text("Hi")...)); err != nil {
		return err
	}
	if err := t.echoed(ctx); err != nil {
		return fmt.Errorf("by another model, with the same history: %w", err)
	}
	return nil
}

// echoed wants two thoughts in the latest request, and in the prompt that the server makes from it,
// if it shows prompts.
func (t *trial) echoed(ctx context.Context) error {
	const thoughts = 2
	if err := want("thoughts in the request", strings.Count(string(t.wire.last), tiny.Thought), thoughts); err != nil {
		return err
	}
	status, shown, err := t.ask(ctx, "/apply-template", json.RawMessage(t.wire.last))
	if err != nil || status != http.StatusOK {
		t.note = "the server shows no prompts"
		return err
	}
	return want("thoughts in the prompt", strings.Count(at(shown, "prompt"), tiny.Thought), thoughts)
}
