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

// Model is an agent.Model that plays a script. It may be used concurrently: calls take the steps
// in their order.
type Model struct {
	steps  []Step
	repeat bool // the last step repeats
	info   model.Info

	mu      sync.Mutex // guards prompts
	prompts []Prompt
}

var _ model.Model = (*Model)(nil)

// Step is what the model does when it is called.
type Step func(ctx context.Context, p Prompt) (*model.Response, error)

// Prompt is a call of the model.
type Prompt struct {
	Number  int // of the call, starting at 1
	Request model.Request

	show func(model.Delta) error
}

// Play returns a model that takes one step per call, and does not stream. A call after the last
// step fails.
func Play(steps ...Step) *Model { return &Model{steps: steps, info: model.Info{Whole: true}} }

// PlayRepeating is like [Play], but repeats the last step.
func PlayRepeating(steps ...Step) *Model {
	m := Play(steps...)
	m.repeat = true
	return m
}

// WithInfo sets what the model says about itself, and returns the model. Call it before the model
// is used. The model streams unless info.Whole is set.
func (m *Model) WithInfo(info model.Info) *Model {
	m.info = info
	return m
}

// Info implements [model.Model].
func (m *Model) Info() model.Info { return m.info }

// Generate implements [model.Model].
func (m *Model) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		left := false
		reply, err := m.step(ctx, r, func(d model.Delta) error {
			left = left || !yield(d, nil)
			if left {
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

// step takes the next step of the script.
func (m *Model) step(ctx context.Context, r *model.Request, show func(model.Delta) error) (*model.Response, error) {
	p := Prompt{Request: *r, show: show}
	p.Request.Messages = slices.Clone(r.Messages)
	m.mu.Lock()
	p.Number = len(m.prompts) + 1
	m.prompts = append(m.prompts, p)
	m.mu.Unlock()
	i := p.Number - 1
	if i >= len(m.steps) && m.repeat {
		i = len(m.steps) - 1
	}
	if i < 0 || i >= len(m.steps) {
		return nil, fmt.Errorf("call %d of the model: the script has %d steps", p.Number, len(m.steps))
	}
	return m.steps[i](ctx, p)
}

// Prompts returns the calls so far. The caller must not modify what they point to.
func (m *Model) Prompts() []Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.prompts)
}

// Show sends a piece of the reply if the caller wants a stream. With an error the caller is gone,
// and the step should return it.
func (p *Prompt) Show(d model.Delta) error {
	if !p.Request.Stream {
		return nil
	}
	return p.show(d)
}

// Results returns the texts of the tool results at the end of the messages, in their order: the results
// of the last step that called tools. It returns none if the person has said something since. Reminders of the agent, which ask for an answer at a limit or in
// another form, and the replies that they are about are skipped.
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

// Tools returns the names of the tools that the model was offered.
func (p *Prompt) Tools() []string {
	var names []string
	for _, t := range p.Request.Tools {
		names = append(names, t.Name)
	}
	return names
}

// Say replies with a text, word by word if the caller wants a stream.
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
func Use(calls ...ToolCall) Step {
	return func(_ context.Context, p Prompt) (*model.Response, error) {
		m := run.Message{Role: run.RoleAssistant}
		for i, c := range calls {
			m.Parts = append(m.Parts, run.Part{
				Type: run.PartCall, ID: fmt.Sprintf("call-%d-%d", p.Number, i+1), Name: c.Tool, Arguments: c.Arguments,
			})
		}
		return &model.Response{Message: m, Finish: model.FinishCalls}, nil
	}
}

// Using returns a step that also reports the tokens of its reply; output includes reasoning.
// Limits.Cost needs that: without it the run fails with agent.ErrUncounted. A step that fails
// reports nothing.
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

// ToolCall is a tool call that the model asks for. Arguments are JSON, or any text to test what
// happens to invalid arguments.
type ToolCall struct{ Tool, Arguments string }

// Fail fails the model call.
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
