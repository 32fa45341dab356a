// Package agenttest tests agents without a language model or a server program: a [Model] plays a
// script and remembers its turns, and [NewServer] returns an MCP server of Go functions in the
// same process.
//
//	model := agenttest.Play(
//		agenttest.CallTools("weather", `{"city":"Oslo"}`),
//		agenttest.Say("It rains in Oslo."),
//	)
//	a, err := agent.New(model, &agent.Options{Tools: []adapter.Source{toolset}})
//	…
//	result, err := a.Run(ctx, agent.Text("How is the weather in Oslo?"))
//
// The guide docs/agent.md of the repository has a chapter on tests, and examples/testing is a
// test of a whole agent.
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

	mu    sync.Mutex // guards turns
	turns []Turn
}

var _ model.Model = (*Model)(nil)

// Step is what the model does when it is called.
type Step func(ctx context.Context, t Turn) (*model.Response, error)

// Turn is one call of the model, with the request of the agent.
type Turn struct {
	Request model.Request

	number int                     // starting at 1
	show   func(model.Delta) error // nil in Turns
}

// Play returns a model that takes one step per call. A call after the last step fails. Its Info
// says that it does not stream, so agents do not ask for a stream; see [Model.WithInfo].
func Play(steps ...Step) *Model { return &Model{steps: steps, info: model.Info{NoStreaming: true}} }

// PlayRepeating is like [Play], but repeats the last step.
func PlayRepeating(steps ...Step) *Model {
	m := Play(steps...)
	m.repeat = true
	return m
}

// WithInfo returns a model with the same script and other properties, at its first step. It streams
// unless info.NoStreaming is set.
func (m *Model) WithInfo(info model.Info) *Model {
	return &Model{steps: m.steps, repeat: m.repeat, info: info}
}

// Info implements [model.Model].
func (m *Model) Info() model.Info { return m.info }

// Generate implements [model.Model].
func (m *Model) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		stopped := false
		reply, err := m.step(ctx, r, func(d model.Delta) error {
			stopped = stopped || !yield(d, nil)
			if stopped {
				return context.Canceled
			}
			return nil
		})
		switch {
		case stopped:
		case err != nil:
			yield(model.Delta{}, err)
		default:
			yield(model.Delta{Response: reply}, nil)
		}
	}
}

func (m *Model) step(ctx context.Context, r *model.Request, show func(model.Delta) error) (*model.Response, error) {
	t := Turn{Request: *r}
	t.Request.Messages = slices.Clone(r.Messages)
	m.mu.Lock()
	t.number = len(m.turns) + 1
	m.turns = append(m.turns, t)
	m.mu.Unlock()
	t.show = show
	i := t.number - 1
	if i >= len(m.steps) && m.repeat {
		i = len(m.steps) - 1
	}
	if i < 0 || i >= len(m.steps) {
		return nil, fmt.Errorf("call %d of the model: the script has %d steps", t.number, len(m.steps))
	}
	return m.steps[i](ctx, t)
}

// Turns returns the turns so far. The caller must not modify what they point to.
func (m *Model) Turns() []Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.turns)
}

// Stream sends a piece of the reply if the caller wants a stream. If it returns an error the caller
// has stopped reading: the step should return that error. On a Turn from [Model.Turns], Stream does
// nothing.
func (t *Turn) Stream(d model.Delta) error {
	if !t.Request.Stream || t.show == nil {
		return nil
	}
	return t.show(d)
}

// Results returns the texts of the tool results at the end of the messages, the oldest first, or
// nil if a message of the user follows them. It skips the agent's reminders (to answer at a limit,
// or in another form) and the replies that caused them.
func (t *Turn) Results() []string {
	var results []string
	reminded := false
messages:
	for _, m := range slices.Backward(t.Request.Messages) {
		switch {
		case m.Role == run.RoleTool:
			for _, part := range slices.Backward(m.Parts) {
				if part.Type == run.PartResult {
					results = append(results, part.Text)
				}
			}
		case results == nil && m.Role == run.RoleUser && reminder.Is(m.Text()):
			reminded = true
		case results == nil && reminded && isPlainReply(m): // the reply to which the reminder belongs
		default:
			break messages
		}
	}
	slices.Reverse(results)
	return results
}

func isPlainReply(m run.Message) bool {
	return m.Role == run.RoleAssistant && !slices.ContainsFunc(m.Parts, func(p run.Part) bool { return p.Type == run.PartCall })
}

// Tools returns the names of the tools that the model was offered.
func (t *Turn) Tools() []string {
	var names []string
	for _, tool := range t.Request.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// Say replies with a text, word by word if the caller wants a stream.
func Say(text string) Step {
	return func(_ context.Context, t Turn) (*model.Response, error) {
		for word := range strings.SplitAfterSeq(text, " ") {
			if err := t.Stream(model.Delta{Text: word}); err != nil {
				return nil, err
			}
		}
		return &model.Response{Message: run.Text(run.RoleAssistant, text), Finish: model.FinishStop}, nil
	}
}

// CallTools asks for tool calls, all in one turn: toolsAndArguments has the name of a tool, its arguments,
// the name of the next tool, and so on. Arguments are JSON, or any text to test what happens to invalid
// arguments. CallTools panics if the last tool has none.
func CallTools(toolsAndArguments ...string) Step {
	if len(toolsAndArguments)%2 == 1 {
		panic("agenttest: CallTools: the last tool has no arguments")
	}
	return func(_ context.Context, t Turn) (*model.Response, error) {
		m := run.Message{Role: run.RoleAssistant}
		for call := range slices.Chunk(toolsAndArguments, 2) {
			id := fmt.Sprintf("call-%d-%d", t.number, len(m.Parts)+1)
			m.Parts = append(m.Parts, run.Part{Type: run.PartCall, ID: id, Name: call[0], Arguments: call[1]})
		}
		return &model.Response{Message: m, Finish: model.FinishCalls}, nil
	}
}

// WithUsage returns a step that also reports the tokens of its reply; output includes reasoning.
// Limits.Cost needs that: without it the run fails. A step that fails
// reports nothing.
func (s Step) WithUsage(input, output int) Step {
	return func(ctx context.Context, t Turn) (*model.Response, error) {
		reply, err := s(ctx, t)
		if err != nil || reply == nil {
			return reply, err
		}
		with := *reply
		with.Usage.Input, with.Usage.Output = int64(input), int64(output)
		return &with, nil
	}
}
