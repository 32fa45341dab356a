package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestStatus(t *testing.T) {
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	total := 4.0
	call := func(id, tool string) agent.Call { return agent.Call{ID: id, Server: "demo", Tool: tool} }
	s := status{window: 1000}
	s.begin(begin)
	for i, step := range []struct {
		event agent.Event
		want  string
	}{
		{&agent.ModelStart{}, "● waiting for the model · 1 s · Ctrl-C stops"},
		{&agent.ReasoningDelta{}, "● thinking · 2 s · Ctrl-C stops"},
		{&agent.TextDelta{}, "● answering · 3 s · Ctrl-C stops"},
		{&agent.ModelEnd{Usage: run.Usage{Turns: 1, Input: 1500, Output: 20, Cost: map[string]int64{"USD": 12_000}}},
			"● working · 4 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolStart{Call: call("1", "count")},
			"  ⋯ demo count 0 s\n● running demo count · 5 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolStart{Call: call("2", "login\x1b[2J")},
			"  ⋯ demo count 1 s\n  ⋯ demo login\\x1b[2J 0 s\n● running 2 tools · 6 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolProgress{Call: call("1", "count"), Progress: mcp.Progress{Progress: 1, Total: &total, Message: "one\x1b[2J"}},
			"  ⋯ demo count 2 s 1/4 one\\x1b[2J\n  ⋯ demo login\\x1b[2J 1 s\n● running 2 tools · 7 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolProgress{Call: call("2", "login"), Progress: mcp.Progress{Progress: 2, Total: &total}},
			"  ⋯ demo count 3 s 1/4 one\\x1b[2J\n  ⋯ demo login\\x1b[2J 2 s 2/4\n● running 2 tools · 8 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolEnd{Call: call("1", "count")},
			"  ⋯ demo login\\x1b[2J 3 s 2/4\n● running demo login\\x1b[2J · 9 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
	} {
		s.handleEvent(step.event, at(i+1))
		check.Same(t, i, strings.Join(s.view(at(i+1), false), "\n"), step.want)
	}
	s.end()
	check.That(t, s.view(at(70), false) == nil, "a turn that is over has a status")
	check.Equal(t, "", formatSeconds(252*time.Second), "4:12")
}
