package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A number that is 0 has its default, and a negative one is no limit, or none of what the option is
// for. [TestNewRefusesMistakes] has those that no run can do without.
func TestNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		zero, negative agent.Options
		calls          int              // that the model makes
		stop           agent.StopReason // of zero
	}{
		"Limits.Turns":       {agent.Options{}, agent.Options{Limits: run.Limits{Turns: -1}}, 21, agent.StopMaxTurns},
		"Limits.Calls":       {agent.Options{Limits: run.Limits{Turns: -1}}, agent.Options{Limits: run.Limits{Turns: -1, Calls: -1}}, 101, agent.StopMaxToolCalls},
		"Limits.Tokens":      {agent.Options{}, agent.Options{Limits: run.Limits{Tokens: -1}}, 1, agent.StopOutput},
		"Limits.Active":      {agent.Options{}, agent.Options{Limits: run.Limits{Active: -time.Hour}}, 1, agent.StopOutput},
		"MaxDuration":        {agent.Options{}, agent.Options{MaxDuration: -time.Hour}, 1, agent.StopOutput},
		"Person.QuestionTTL": {agent.Options{}, agent.Options{Person: agent.Person{QuestionTTL: -time.Hour}}, 1, agent.StopOutput},
		"Durable.ResultTokens": {agent.Options{Durable: agent.Durable{Store: record.NewMemory()}},
			agent.Options{Durable: agent.Durable{Store: record.NewMemory(), ResultTokens: -1}}, 1, agent.StopOutput},
	} {
		t.Run(name, func(t *testing.T) {
			asks := func(ctx context.Context, p prompt) (*model.Response, error) {
				if p.Request.ToolChoice == model.ChoiceNone || p.Number > tt.calls {
					return says("done")(ctx, p)
				}
				return uses(toolCall("1", "fast", "{}"))(ctx, p)
			}
			fast := adapter.Func("fast", "", func(context.Context, struct{}) (string, error) { return "ok", nil }, nil)
			for kind, opts := range map[string]*agent.Options{"0": &tt.zero, "negative": &tt.negative} {
				opts.Tools = []adapter.Source{fast}
				want := map[string]agent.StopReason{"0": tt.stop, "negative": agent.StopOutput}[kind]
				check.Equal(t, kind+": the run stops for", mustRun(t, newAgent(t, play(asks), opts), human("go")).StopReason, want)
			}
		})
	}
}
