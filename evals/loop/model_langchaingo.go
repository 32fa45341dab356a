package main

import (
	"context"

	"github.com/tmc/langchaingo/llms"
)

// lcModel is the model in langchaingo's type: for our agent and langchaingo's.
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

// lcHistory is the history in langchaingo's type.
func lcHistory(n int) (messages []llms.MessageContent) {
	for i := range n {
		id := historyID(i)
		switch i % 4 {
		case 0:
			messages = append(messages, llms.TextParts(llms.ChatMessageTypeHuman, historyText))
		case 1:
			messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{lcCall(id)}})
		case 2:
			messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
				llms.ToolCallResponse{ToolCallID: id, Name: toolName, Content: toolResult},
			}})
		case 3:
			messages = append(messages, llms.TextParts(llms.ChatMessageTypeAI, historyText))
		}
	}
	return messages
}
