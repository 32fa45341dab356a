package agenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/reminder"
)

// Model is an [llms.Model] that plays a script. Goroutines may share it: they take its
// steps in the order of their calls.
type Model struct {
	steps []Step
	again bool // the last step repeats

	mu      sync.Mutex // guards prompts
	prompts []Prompt
}

// Step is what the model does when it is called.
type Step func(ctx context.Context, p Prompt) (*llms.ContentResponse, error)

// Prompt is what the model was called with.
type Prompt struct {
	Number   int // of the call, from 1
	Messages []llms.MessageContent
	Options  llms.CallOptions
}

// Play returns a model that takes one step for each call. A call after the last step
// fails.
func Play(steps ...Step) *Model { return &Model{steps: steps} }

// PlayOn is [Play], but the last step repeats.
func PlayOn(steps ...Step) *Model { return &Model{steps: steps, again: true} }

// GenerateContent implements [llms.Model].
func (m *Model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	p := Prompt{Messages: slices.Clone(messages)}
	for _, set := range options {
		set(&p.Options)
	}
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

// Call is the older form of [llms.Model], which agents do not use.
func (m *Model) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("agenttest: Call is not scripted, only GenerateContent")
}

// Prompts are the calls so far.
func (m *Model) Prompts() []Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.prompts)
}

// Results are the texts of the tool results that end the messages: what the tools answered
// to the last step that called some. Media of these results, a reminder of the agent, which asks for an answer
// at a limit or in another form, and the texts that the reminder is about do not count as messages.
func (p *Prompt) Results() []string {
	var results []string
	reminded := false
	for _, m := range slices.Backward(p.Messages) {
		switch {
		case m.Role == llms.ChatMessageTypeTool:
			results = appendResults(results, m.Parts)
		case results == nil && isReminder(m):
			reminded = true
		case results == nil && (isMedia(m) || reminded && isSaid(m)):
		default:
			slices.Reverse(results)
			return results
		}
	}
	slices.Reverse(results)
	return results
}

// appendResults appends the texts of tool results, the last one first.
func appendResults(results []string, parts []llms.ContentPart) []string {
	for _, part := range slices.Backward(parts) {
		if r, ok := part.(llms.ToolCallResponse); ok {
			results = append(results, r.Content)
		}
	}
	return results
}

// isReminder reports whether the agent itself asks for an answer.
func isReminder(m llms.MessageContent) bool {
	if m.Role != llms.ChatMessageTypeHuman || len(m.Parts) != 1 {
		return false
	}
	text, ok := m.Parts[0].(llms.TextContent)
	return ok && reminder.Is(text.Text)
}

// isMedia reports whether a message has the media of tool results.
func isMedia(m llms.MessageContent) bool {
	return m.Role == llms.ChatMessageTypeHuman && !slices.ContainsFunc(m.Parts, func(part llms.ContentPart) bool {
		_, isText := part.(llms.TextContent)
		return isText
	})
}

// isSaid reports whether the model said something and called no tool.
func isSaid(m llms.MessageContent) bool {
	return m.Role == llms.ChatMessageTypeAI && !slices.ContainsFunc(m.Parts, func(part llms.ContentPart) bool {
		_, isCall := part.(llms.ToolCall)
		return isCall
	})
}

// Tools are the names of the tools that the model was offered.
func (p *Prompt) Tools() []string {
	var names []string
	for _, t := range p.Options.Tools {
		if t.Function != nil {
			names = append(names, t.Function.Name)
		}
	}
	return names
}

// Say answers with a text. If the caller wants a stream, it comes word by word.
func Say(text string) Step {
	return func(ctx context.Context, p Prompt) (*llms.ContentResponse, error) {
		if p.Options.StreamingFunc != nil {
			for word := range strings.SplitAfterSeq(text, " ") {
				if err := p.Options.StreamingFunc(ctx, []byte(word)); err != nil {
					return nil, err
				}
			}
		}
		return choice(&llms.ContentChoice{Content: text, StopReason: "stop"}), nil
	}
}

// Use asks for tool calls, all in one turn.
func Use(calls ...Wanted) Step {
	return func(_ context.Context, p Prompt) (*llms.ContentResponse, error) {
		c := &llms.ContentChoice{StopReason: "tool_calls"}
		for i, w := range calls {
			c.ToolCalls = append(c.ToolCalls, llms.ToolCall{
				ID: fmt.Sprintf("call-%d-%d", p.Number, i+1), Type: "function",
				FunctionCall: &llms.FunctionCall{Name: w.Tool, Arguments: w.Arguments},
			})
		}
		return choice(c), nil
	}
}

// Using is the step with a report of the tokens that its reply took, as limits of tokens and costs
// need it: without one, Limits.Cost fails with agent.ErrUncounted. The output has the reasoning, too. A step that fails reports none.
func (s Step) Using(input, output int) Step {
	return func(ctx context.Context, p Prompt) (*llms.ContentResponse, error) {
		response, err := s(ctx, p)
		if err != nil || response == nil || len(response.Choices) == 0 {
			return response, err
		}
		reported := *response.Choices[0]
		reported.GenerationInfo = maps.Clone(reported.GenerationInfo)
		if reported.GenerationInfo == nil {
			reported.GenerationInfo = map[string]any{}
		}
		reported.GenerationInfo["InputTokens"], reported.GenerationInfo["OutputTokens"] = input, output
		with := *response
		with.Choices = append([]*llms.ContentChoice{&reported}, response.Choices[1:]...)
		return &with, nil
	}
}

// Wanted is a tool call that the model asks for. Arguments are JSON, or whatever a model
// would write in its place.
type Wanted struct{ Tool, Arguments string }

// Fail is a call of the model that fails.
func Fail(err error) Step {
	return func(context.Context, Prompt) (*llms.ContentResponse, error) { return nil, err }
}

// Hang waits for the end of the call's context.
func Hang() Step {
	return func(ctx context.Context, _ Prompt) (*llms.ContentResponse, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

func choice(c *llms.ContentChoice) *llms.ContentResponse {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{c}}
}
