package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// script is a model whose replies are written. Which one is next follows from the history alone, so
// that any process goes on with a run.
type script struct {
	steps []suite.Step
	after string // its history begins after a call of this tool
}

func handoffOf(a *suite.Agent) string {
	if a.Handoff {
		return a.Name
	}
	return ""
}

// Call implements [llms.Model].
func (s *script) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, options...)
}

// GenerateContent implements [llms.Model].
func (s *script) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	at, seen := s.position(messages)
	if len(s.steps) == 0 {
		return nil, errors.New("the task has no script: write one, or -model live")
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

// position returns how many replies the history has, and the text since the last one.
func (s *script) position(messages []llms.MessageContent) (replies int, seen string) {
	var since strings.Builder
	for _, m := range messages {
		if m.Role == llms.ChatMessageTypeAI {
			replies++
			since.Reset()
			if s.after != "" && calls(m, s.after) {
				replies = 0
			}
			continue
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llms.TextContent:
				since.WriteString(p.Text + "\n")
			case llms.ToolCallResponse:
				since.WriteString(p.Content + "\n")
			}
		}
	}
	return replies, since.String()
}

func calls(m llms.MessageContent, tool string) bool {
	for _, p := range m.Parts {
		if c, ok := p.(llms.ToolCall); ok && c.FunctionCall != nil && c.FunctionCall.Name == tool {
			return true
		}
	}
	return false
}

// reply is what a step says.
func reply(at int, step suite.Step) *llms.ContentResponse {
	choice := &llms.ContentChoice{Content: step.Say, StopReason: "stop"}
	for i, c := range step.Calls {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		choice.StopReason = "tool_calls"
		choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{
			ID: fmt.Sprintf("c%d_%d", at, i), Type: "function", FunctionCall: &llms.FunctionCall{Name: c.Tool, Arguments: args},
		})
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}
}
