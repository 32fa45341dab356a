package main

import (
	"context"
	"errors"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// ourVariants are our agent in several settings.
var ourVariants = []framework{
	{oursName, func(c cell) bool { return c.kind != native }, openOurs},
	{freshName, func(c cell) bool { return c.history > 0 && c.turns > 0 }, openOursFresh},
}

// ours is this module's agent.
type ours struct {
	agent *agent.Agent
	tools *adapter.Toolset
	says  agent.Input
}

func openOurs(ctx context.Context, p *place) (loop, error) {
	tools, err := adapter.Open(ctx, []adapter.Server{
		{Name: "server", Transport: &mcpclient.IO{Reader: p.reader, Writer: p.writer}},
	}, nil)
	if err != nil {
		return nil, err
	}
	a, err := agent.New(lcModel{newScript(p.turns, p.calls)}, &agent.Options{Tools: []adapter.Source{tools}})
	if err != nil {
		return nil, errors.Join(err, tools.Close())
	}
	return &ours{a, tools, agent.FromLLMS(append(lcHistory(p.history), llms.TextParts(llms.ChatMessageTypeHuman, question))...)}, nil
}

// openOursFresh opens our agent without the history of the place.
func openOursFresh(ctx context.Context, p *place) (loop, error) {
	p.history = 0
	return openOurs(ctx, p)
}

func (o *ours) run(ctx context.Context) (string, error) {
	result, err := o.agent.Run(ctx, o.says)
	if err != nil {
		return "", err
	}
	return result.Answer, nil
}

func (o *ours) close() error { return o.tools.Close() }
