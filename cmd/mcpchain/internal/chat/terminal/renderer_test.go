package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The renderer counts the columns of tabs, and the terminal gets the tabs.
func TestTabs(t *testing.T) {
	for line, want := range map[string]struct {
		columns int
		shown   string
	}{
		"\tx":                           {9, "\tx"},
		"abc\tx\ty":                     {17, "abc\tx\ty"},
		"größe\tx":                      {9, "größe\tx"},
		strings.Repeat("x", 35) + "\ty": {41, strings.Repeat("x", 35) + "     y"}, // no tab leaves its row
		strings.Repeat("x", 80):         {81, strings.Repeat("x", 80) + " "},
		strings.Repeat("x", 40):         {41, strings.Repeat("x", 40) + " "},
	} {
		fitted := fitLine(line, 40)
		check.Equal(t, line, ansi.StringWidth(fitted), want.columns)
		path := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(path)
		check.Must(t, err)
		check.NoError(t, check.Err((&output{File: f}).Write([]byte(fitted))))
		check.NoError(t, f.Close())
		if got, err := os.ReadFile(path); err != nil || string(got) != want.shown {
			t.Errorf("%q: got %q, %v; want %q", line, got, err, want.shown)
		}
	}
}

// An address cannot end the sequence of its link or begin another one, and is bounded.
func TestLinked(t *testing.T) {
	const begin, end = "\x1b]8;;", "x\x1b]8;;\x07"
	for address, want := range map[string]string{
		"http://127.0.0.1:1/a":                "http://127.0.0.1:1/a\x07",
		"http://a/\x07\x1b]0;owned\x07\u202e": "http://a/\\x07\\x1b]0;owned\\x07\\u202e\x07",
		strings.Repeat("a", 3000):             strings.Repeat("a", maxAddress-1) + "…\x07",
	} {
		check.Equal(t, "", hyperlink("x", address), begin+want+end)
	}
}

// Terminals that would print the sequence get no link.
func TestLinksByName(t *testing.T) {
	for name, want := range map[string]bool{"xterm-256color": true, "xterm-kitty": true, "linux": false, "vt100": false, "screen.xterm": false} {
		check.Equal(t, name, hasLinks(name), want)
	}
}

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
			"  ⋯ demo count 2 s █████░░░░░░░░░░░░░░░ 1/4 one\\x1b[2J\n  ⋯ demo login\\x1b[2J 1 s\n● running 2 tools · 7 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolProgress{Call: call("2", "login"), Progress: mcp.Progress{Progress: 2, Total: &total}},
			"  ⋯ demo count 3 s █████░░░░░░░░░░░░░░░ 1/4 one\\x1b[2J\n  ⋯ demo login\\x1b[2J 2 s ██████████░░░░░░░░░░ 2/4\n● running 2 tools · 8 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolEnd{Call: call("1", "count")},
			"  ⋯ demo login\\x1b[2J 3 s ██████████░░░░░░░░░░ 2/4\n● running demo login\\x1b[2J · 9 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
	} {
		s.event(step.event, at(i+1))
		check.Same(t, i, strings.Join(s.view(at(i+1), false), "\n"), step.want)
	}
	if s.end(); s.view(at(70), false) != nil {
		t.Error("a turn that is over has a status")
	}
	check.Equal(t, "", formatSeconds(252*time.Second), "4:12")
}
