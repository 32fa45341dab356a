package main

import (
	"context"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
)

// langchainGo is langchaingo's executor with its agent for functions.
type langchainGo struct{ *agents.Executor }

func openLangchainGo(_ context.Context, p *place) (loop, error) {
	a := agents.NewOpenAIFunctionsAgent(lcModel{newScript(p.turns, p.calls)}, []tools.Tool{lcTool{p}})
	return langchainGo{agents.NewExecutor(a, agents.WithMaxIterations(turns+1))}, nil
}

func (l langchainGo) run(ctx context.Context) (string, error) {
	return chains.Run(ctx, l.Executor, question)
}

func (l langchainGo) close() error { return nil }

// lcTool is the tool in langchaingo's type: it gets the arguments as text.
type lcTool struct{ *place }

func (lcTool) Name() string        { return toolName }
func (lcTool) Description() string { return toolPurpose }

func (t lcTool) Call(context.Context, string) (string, error) { return t.tool(), nil }

// lcModel is a model of langchaingo that replies by the script.
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
