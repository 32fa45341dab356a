package main

import (
	"context"

	"github.com/tmc/langchaingo/llms"
)

// lcModel plays the script in langchaingo's type.
type lcModel struct{ *script }

func (m lcModel) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	ids := m.next()
	choice := &llms.ContentChoice{}
	if ids == nil {
		choice.Content, choice.StopReason = answer, "stop"
	} else {
		choice.StopReason, choice.ToolCalls = "tool_calls", make([]llms.ToolCall, len(ids))
	}
	for i, id := range ids {
		choice.ToolCalls[i] = lcCall(id)
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func (m lcModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

func lcCall(id string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: toolName, Arguments: arguments}}
}
