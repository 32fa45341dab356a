package model

import (
	"context"
	"fmt"
	"iter"
	"strings"

	llm "github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// script is a model with written replies. Only the history determines the next one, so that
// any agent can continue a run.
type script struct{ steps []suite.Step }

// Info implements [agent.Model].
func (s *script) Info() llm.Info { return llm.Info{NoStreaming: true} }

// Generate implements [agent.Model].
func (s *script) Generate(_ context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		reply, err := s.next(r.Messages)
		yield(llm.Delta{Response: reply}, err)
	}
}

// next returns the reply to a history.
func (s *script) next(history []run.Message) (*llm.Response, error) {
	at, seen := position(history)
	if at >= len(s.steps) {
		return nil, fmt.Errorf("the script has %d steps, and another one is wanted after %q", len(s.steps), seen)
	}
	step := s.steps[at]
	for _, want := range step.Sees {
		if !strings.Contains(seen, want) {
			return nil, fmt.Errorf("step %d of the script has to see %q, and saw %q", at+1, want, seen)
		}
	}
	return reply(at, step), nil
}

// position returns the number of replies in the history, and the text since the last one.
func position(history []run.Message) (replies int, seen string) {
	var since strings.Builder
	for _, m := range history {
		if m.Role == run.RoleAssistant {
			replies++
			since.Reset()
			continue
		}
		for _, p := range m.Parts {
			since.WriteString(p.Text + "\n")
		}
	}
	return replies, since.String()
}

// reply returns the reply of a step.
func reply(at int, step suite.Step) *llm.Response {
	r := &llm.Response{Message: run.Message{Role: run.RoleAssistant}, Finish: "stop"}
	if step.Say != "" {
		r.Message = run.Text(run.RoleAssistant, step.Say)
	}
	for i, c := range step.Calls {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		r.Finish = "tool_calls"
		r.Message.Parts = append(r.Message.Parts, run.Part{Type: run.PartCall, ID: fmt.Sprintf("c%d_%d", at, i), Name: c.Tool, Arguments: args})
	}
	return r
}
