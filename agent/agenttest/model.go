package agenttest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/agent/internal/reminder"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Model is an agent.Model that plays a script. Goroutines may share it: they take its
// steps in the order of their calls.
type Model struct {
	steps []Step
	again bool // the last step repeats
	info  model.Info

	mu      sync.Mutex // guards prompts
	prompts []Prompt
}

var _ model.Model = (*Model)(nil)

// Step is what the model does when it is called.
type Step func(ctx context.Context, p Prompt) (*model.Response, error)

// Prompt is what the model was called with.
type Prompt struct {
	Number  int // of the call, from 1
	Request model.Request

	show func(model.Delta) error
}

// Play returns a model that takes one step for each call. A call after the last step
// fails. It does not stream.
func Play(steps ...Step) *Model { return &Model{steps: steps, info: model.Info{Whole: true}} }

// PlayOn is [Play], but the last step repeats.
func PlayOn(steps ...Step) *Model {
	m := Play(steps...)
	m.again = true
	return m
}

// As has the model describe itself in another way, before it is used. It streams unless info.Whole is set.
func (m *Model) As(info model.Info) *Model {
	m.info = info
	return m
}

// Info implements the interface of agent.Model.
func (m *Model) Info() model.Info { return m.info }

// Generate implements the interface of agent.Model.
func (m *Model) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		left := false
		reply, err := m.step(ctx, r, func(d model.Delta) error {
			if left = left || !yield(d, nil); left {
				return context.Canceled
			}
			return nil
		})
		switch {
		case left:
		case err != nil:
			yield(model.Delta{}, err)
		default:
			yield(model.Delta{Response: reply}, nil)
		}
	}
}

func (m *Model) step(ctx context.Context, r *model.Request, show func(model.Delta) error) (*model.Response, error) {
	p := Prompt{Request: *r, show: show}
	p.Request.Messages = slices.Clone(r.Messages)
	m.mu.Lock()
	p.Number = len(m.prompts) + 1
	m.prompts = append(m.prompts, p)
	m.mu.Unlock()
	i := p.Number - 1
	if i >= len(m.steps) && m.again {
		i = len(m.steps) - 1
	}
	if i < 0 || i >= len(m.steps) {
		return nil, fmt.Errorf("call %d of the model: the script has %d steps", p.Number, len(m.steps))
	}
	return m.steps[i](ctx, p)
}

// Prompts are the calls so far.
func (m *Model) Prompts() []Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.prompts)
}

// Show gives the caller a piece of the reply if it wants a stream. The error is for a caller that has left: the
// step ends.
func (p *Prompt) Show(d model.Delta) error {
	if !p.Request.Stream {
		return nil
	}
	return p.show(d)
}

// Results are the texts of the tool results that end the messages: what the tools answered
// to the last step that called some. A reminder of the agent, which asks for an answer
// at a limit or in another form, and the texts that the reminder is about do not count as messages.
func (p *Prompt) Results() []string {
	var results []string
	reminded := false
	for _, m := range slices.Backward(p.Request.Messages) {
		switch {
		case m.Role == run.RoleTool:
			for _, part := range slices.Backward(m.Parts) {
				if part.Type == run.PartResult {
					results = append(results, part.Text)
				}
			}
		case results == nil && m.Role == run.RoleUser && reminder.Is(m.Text()):
			reminded = true
		case results == nil && reminded && isSaid(m):
		default:
			slices.Reverse(results)
			return results
		}
	}
	slices.Reverse(results)
	return results
}

// isSaid reports whether the model said something and called no tool.
func isSaid(m run.Message) bool {
	return m.Role == run.RoleAssistant && !slices.ContainsFunc(m.Parts, func(p run.Part) bool { return p.Type == run.PartCall })
}

// Tools are the names of the tools that the model was offered.
func (p *Prompt) Tools() []string {
	var names []string
	for _, t := range p.Request.Tools {
		names = append(names, t.Name)
	}
	return names
}

// Say answers with a text. If the caller wants a stream, it comes word by word.
func Say(text string) Step {
	return func(_ context.Context, p Prompt) (*model.Response, error) {
		for word := range strings.SplitAfterSeq(text, " ") {
			if err := p.Show(model.Delta{Text: word}); err != nil {
				return nil, err
			}
		}
		return &model.Response{Message: run.Text(run.RoleAssistant, text), Finish: model.FinishStop}, nil
	}
}

// Use asks for tool calls, all in one turn.
func Use(calls ...Wanted) Step {
	return func(_ context.Context, p Prompt) (*model.Response, error) {
		m := run.Message{Role: run.RoleAssistant}
		for i, w := range calls {
			m.Parts = append(m.Parts, run.Part{
				Type: run.PartCall, ID: fmt.Sprintf("call-%d-%d", p.Number, i+1), Name: w.Tool, Arguments: w.Arguments,
			})
		}
		return &model.Response{Message: m, Finish: model.FinishCalls}, nil
	}
}

// Using is the step with a report of the tokens that its reply took, as limits of tokens and costs
// need it: without one, Limits.Cost fails with agent.ErrUncounted. The output has the reasoning, too. A step that fails reports none.
func (s Step) Using(input, output int) Step {
	return func(ctx context.Context, p Prompt) (*model.Response, error) {
		reply, err := s(ctx, p)
		if err != nil || reply == nil {
			return reply, err
		}
		with := *reply
		with.Usage.Input, with.Usage.Output = int64(input), int64(output)
		return &with, nil
	}
}

// Wanted is a tool call that the model asks for. Arguments are JSON, or whatever a model
// would write in its place.
type Wanted struct{ Tool, Arguments string }

// Fail is a call of the model that fails.
func Fail(err error) Step {
	return func(context.Context, Prompt) (*model.Response, error) { return nil, err }
}

// Hang waits for the end of the call's context.
func Hang() Step {
	return func(ctx context.Context, _ Prompt) (*model.Response, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}
