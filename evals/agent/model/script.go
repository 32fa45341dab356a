package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	llm "github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// script is a model with written replies. Only the history determines the next one, so that
// any agent can continue a run.
type script struct {
	steps []suite.Step
	after string // name of the handoff after whose call the script begins; "": it begins with the first message
}

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
	at, seen := s.position(history)
	if len(s.steps) == 0 {
		return nil, errors.New("the task has no script: write one, or use a model")
	}
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
func (s *script) position(history []run.Message) (replies int, seen string) {
	var since strings.Builder
	for _, m := range history {
		if m.Role == run.RoleAssistant {
			replies++
			since.Reset()
			if slices.ContainsFunc(m.Parts, func(p run.Part) bool { return p.Type == run.PartCall && p.Name == s.after }) {
				replies = 0
			}
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
	r := &llm.Response{Message: run.Message{Role: run.RoleAssistant}, Finish: llm.FinishStop}
	if step.Say != "" {
		r.Message = run.Text(run.RoleAssistant, step.Say)
	}
	for i, c := range step.Calls {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		r.Finish = llm.FinishCalls
		r.Message.Parts = append(r.Message.Parts, run.Part{Type: run.PartCall, ID: fmt.Sprintf("c%d_%d", at, i), Name: c.Tool, Arguments: args})
	}
	return r
}
