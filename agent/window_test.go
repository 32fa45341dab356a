package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// serverTool is a function that stands for a tool of a server.
func serverTool(server, name, description string) adapter.Source {
	return adapter.Func(name, description, func(context.Context, struct{ City string }) (string, error) {
		return strings.Repeat("It is sunny. ", 40), nil
	}, &adapter.FuncOptions{Server: server, ReadOnly: true})
}

// TestWindowUse says what fills the window in each call of the model.
func TestWindowUse(t *testing.T) {
	for name, provider := range map[string]string{"openai": "", "anthropic": "anthropic"} {
		for hook, hooks := range map[string][]agent.Hook{"": nil, " with a hook": {{BeforeModel: func(context.Context, *agent.State, *agent.ModelCall) error { return nil }}}} {
			t.Run(name+hook, func(t *testing.T) {
				info := model.Info{Whole: true, Window: 50_000, Provider: provider}
				m := agenttest.Play(
					agenttest.Use(agenttest.ToolCall{Tool: "weather", Arguments: `{"City":"Oslo"}`}),
					agenttest.Use(agenttest.ToolCall{Tool: "weather", Arguments: `{"City":"Bergen"}`}),
					agenttest.Say("sunny").Using(2000, 3),
				).WithInfo(info)
				a := newAgent(t, m, &agent.Options{System: strings.Repeat("Be brief. ", 20), Hooks: hooks, Tools: []adapter.Source{
					serverTool("north", "weather", "Tells the weather of a city."), serverTool("south", "traffic", strings.Repeat("Tells of the traffic. ", 30)),
					serverTool("north", "tides", "Tells the tides."),
				}})
				var uses []*agent.WindowUse
				var result agent.Result
				for e := range each(t, a.Events(t.Context(), human("How is it?"))) {
					if end, ok := e.(*agent.ModelEnd); ok {
						uses = append(uses, end.Window)
					}
					result.Add(e)
				}
				if len(uses) != 3 || result.Window != uses[2] {
					t.Fatalf("got %d accounts, and %p in the result", len(uses), result.Window)
				}
				for i, use := range uses {
					sum := use.Instructions + use.History + use.Results
					for _, s := range use.Servers {
						sum += s.Tokens
					}
					if sum != use.Input || use.Size != 50_000 {
						t.Errorf("call %d: the parts make %d, want %d: %+v", i, sum, use.Input, use)
					}
					if len(use.Servers) != 2 || use.Servers[0].Server != "north" || use.Servers[0].Tools != 2 || use.Servers[1].Tools != 1 || use.Servers[1].Tokens < use.Servers[0].Tokens {
						t.Errorf("call %d: got the servers %+v", i, use.Servers)
					}
					whole := model.Tokens(&m.Prompts()[i].Request, &info)
					if counted := i == 2; counted != !use.Estimated || counted && use.Input != 2000 || !counted && (use.Input < whole*95/100 || use.Input > whole*105/100) {
						t.Errorf("call %d: got %+v, want about %d", i, use, whole)
					}
				}
				if one, two := uses[0], uses[1]; one.Results != 0 || two.Results < 100 || uses[2].Results < two.Results || two.Instructions != one.Instructions || two.History <= one.History {
					t.Errorf("got %+v, %+v, %+v", *one, *two, *uses[2])
				}
			})
		}
	}
}

// TestWindowUseOfAResult has the account of the last call in a result, and none without a call.
func TestWindowUseOfAResult(t *testing.T) {
	store := record.NewMemory()
	a := newAgent(t, play(says("hi")), &agent.Options{Durable: agent.Durable{Store: store}})
	got, err := a.Run(t.Context(), human("hello"), agent.In("r"))
	if err != nil || got.Window == nil || got.Window.Input == 0 {
		t.Errorf("got %+v, %v", got.Window, err)
	}
	again, err := a.ResumeRun(t.Context(), theRun)
	if err != nil || again.Window != nil {
		t.Errorf("got %+v, %v", again.Window, err)
	}
}
