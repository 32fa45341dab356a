package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// openOurs opens our agent for a cell, with a history of that many messages.
func openOurs(ctx context.Context, s *subject, messages int, store record.Store) (runner, error) {
	tool, err := newTool(ctx, s)
	if err != nil {
		return nil, err
	}
	a, err := agent.New(ourModel{newScript(s.turns, s.calls)}, &agent.Options{
		Tools:   []adapter.Source{tool},
		Durable: agent.Durable{Store: store},
		Limits:  run.Limits{Calls: -1, Parallel: s.calls},
	})
	if err != nil {
		return nil, err
	}
	input := append(ourHistory(messages), run.Text(run.RoleUser, question))
	return func(ctx context.Context) (string, error) {
		result, err := a.Run(ctx, input)
		if err != nil {
			return "", err
		}
		if result.Status != run.StatusFinished {
			return "", fmt.Errorf("run %s is %s, want %s", result.State.Key(), result.Status, run.StatusFinished)
		}
		if store == nil {
			return result.Output, nil
		}
		return result.Output, store.Delete(ctx, result.State.Key()) // otherwise the runs would pile up in memory
	}, nil
}

// newTool returns the tool of the cell: a Go function, or the toolset of its server.
func newTool(ctx context.Context, s *subject) (adapter.Source, error) {
	if s.kind == native {
		return adapter.Func(toolName, toolPurpose, func(context.Context, input) (string, error) { return s.tool(), nil },
			&adapter.FuncOptions{ReadOnly: true}), nil
	}
	tools, err := adapter.Open(ctx, []adapter.Server{{
		Name:      "server",
		Transport: &mcpclient.IO{Reader: s.reader, Writer: s.writer},
		Policy:    adapter.Policy{Trust: adapter.TrustHints},
	}}, nil)
	if err != nil {
		return nil, err
	}
	s.end = tools.Close
	return tools, nil
}

type ourModel struct{ *script }

func (ourModel) Info() model.Info { return model.Info{NoStreaming: true} }

func (m ourModel) Generate(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		ids := m.next()
		if ids == nil {
			yield(model.Delta{Response: &model.Response{Message: run.Text(run.RoleAssistant, answer), Finish: model.FinishStop}}, nil)
			return
		}
		calls := run.Message{Role: run.RoleAssistant}
		for _, id := range ids {
			calls.Parts = append(calls.Parts, ourCall(id))
		}
		yield(model.Delta{Response: &model.Response{Message: calls, Finish: model.FinishCalls}}, nil)
	}
}

func ourCall(id string) run.Part {
	return run.Part{Type: run.PartCall, ID: id, Name: toolName, Arguments: arguments}
}

func ourHistory(n int) []run.Message {
	return history(n, run.Text(run.RoleUser, historyText), run.Text(run.RoleAssistant, historyText), func(id string) (call, result run.Message) {
		return run.Message{Role: run.RoleAssistant, Parts: []run.Part{ourCall(id)}},
			run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: id, Name: toolName, Text: toolResult}}}
	})
}
