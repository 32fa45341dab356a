package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// A reply is durable before anything that takes time: a hook, or what decides on its calls.
func TestReplyIsKeptFirst(t *testing.T) {
	for name, set := range map[string]func(*agent.Options, func()){
		"approval": func(o *agent.Options, look func()) {
			o.Person.Approve = func(context.Context, *approval.Request) (approval.Decision, error) {
				look()
				return approval.Allow(), nil
			}
		},
		"hook": func(o *agent.Options, look func()) {
			o.Hooks = []agent.Hook{{BeforeTool: func(context.Context, *agent.State, *agent.ToolCall) error { look(); return nil }}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, kept := record.NewMemory(), 0
			echo := adapter.Func("echo", "Echoes.", func(context.Context, struct{}) (string, error) { return "ok", nil }, nil)
			opts := &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{echo}}
			set(opts, func() {
				if s, err := folded(t.Context(), store); err == nil && len(s.Calls) == 1 {
					kept++
				}
			})
			mustRun(t, newAgent(t, play(uses(toolCall("1", "echo", "{}")), says("done")), opts), human("go"), agent.In(theRun.ID))
			if kept != 1 {
				t.Error("the store does not have the reply")
			}
		})
	}
}

// What a reply took counts although a hook refuses the reply.
func TestRefusedReplyCounts(t *testing.T) {
	no := errors.New("no")
	hook := agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return no }}
	for _, limits := range []run.Limits{{}, {Tokens: 100_000}} {
		got, err := newAgent(t, play(counted(says("secret"))), &agent.Options{Hooks: []agent.Hook{hook}, Limits: limits}).Run(t.Context(), human("go"))
		if taken := agent.Inside(got.State).Taken().Tokens; !errors.Is(err, no) || taken < 150 || limits.Tokens == 0 && got.Spent.Total != 150 {
			t.Errorf("got %v and %d tokens, %+v", err, taken, got.Spent)
		}
	}
}
