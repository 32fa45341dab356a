package main

import (
	"context"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
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
