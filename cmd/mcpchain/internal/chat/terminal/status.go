package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// status is the state of the turn, for the status line.
type status struct {
	busy   bool // a turn is under way
	since  time.Time
	doing  string
	calls  []*call
	window int64 // size of the model's window in tokens; 0: unknown

	turn, total run.Spent
	context     int64 // tokens of the last model call
}

// call is a tool call that is under way.
type call struct {
	id, what string
	since    time.Time
	done     float64 // share from 0 to 1; below 0: unknown
	message  string  // of the server
}

func (s *status) begin(now time.Time) {
	s.busy, s.since, s.doing, s.calls, s.turn = true, now, "waiting for the model", nil, run.Spent{}
}

func (s *status) end() { s.busy, s.calls = false, nil }

// event handles an event of the turn.
func (s *status) event(e agent.Event, now time.Time) {
	switch e := e.(type) {
	case *agent.ModelStart:
		s.doing = "waiting for the model"
	case *agent.ReasoningDelta:
		s.doing = "thinking"
	case *agent.TextDelta:
		s.doing = "answering"
	case *agent.ModelEnd:
		s.doing = "working"
		s.context = e.Usage.Input + e.Usage.Output
		s.turn.Add(e.Usage)
		s.total.Add(e.Usage)
	case *agent.SamplingEnd:
		s.turn.Add(e.Usage)
		s.total.Add(e.Usage)
	case *agent.ToolStart:
		s.calls = append(s.calls, &call{id: e.ID, what: hosttext.Line(e.Server+" "+screen.CallName(&e.Call), 60), since: now, done: -1})
	case *agent.ToolProgress:
		for _, c := range s.calls {
			if c.id == e.ID {
				c.message, c.done = hosttext.Line(screen.Progress(e), 60), -1
				if total := e.Progress.Total; total != nil && *total > 0 {
					c.done = min(1, max(0, e.Progress.Progress / *total))
				}
			}
		}
	case *agent.ToolEnd:
		s.calls = slices.DeleteFunc(s.calls, func(c *call) bool { return c.id == e.ID })
	}
}

// view returns a line for each call, and one for the turn.
func (s *status) view(now time.Time, asking bool) (lines []string) {
	if !s.busy {
		return nil
	}
	for _, c := range s.calls {
		line := fmt.Sprintf("  ⋯ %s %s", c.what, formatSeconds(now.Sub(c.since)))
		if c.done >= 0 {
			line += " " + progressBar(c.done)
		}
		lines = append(lines, strings.TrimRight(line+" "+c.message, " "))
	}
	doing := s.doing
	switch {
	case asking:
		doing = "waiting for you"
	case len(s.calls) == 1:
		doing = "running " + s.calls[0].what
	case len(s.calls) > 1:
		doing = "running " + screen.Plural(len(s.calls), "tool")
	}
	parts := []string{doing, formatSeconds(now.Sub(s.since))}
	if s.turn.Turns > 0 {
		parts = append(parts, formatSpent(&s.turn))
	}
	if s.total.Turns != s.turn.Turns {
		parts = append(parts, "in all "+formatSpent(&s.total))
	}
	if s.window > 0 && s.context > 0 {
		parts = append(parts, fmt.Sprintf("%d %% of the context", s.context*100/s.window))
	}
	return append(lines, "● "+strings.Join(append(parts, "Ctrl-C stops"), " · "))
}

// barWidth is the width of a progress bar in columns.
const barWidth = 20

func progressBar(done float64) string {
	full := int(done * barWidth)
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// formatSpent formats tokens, and their cost if it is known.
func formatSpent(u *run.Spent) string {
	return strings.TrimSpace("↑" + formatTokens(u.Input) + " ↓" + formatTokens(u.Output) + " " + screen.Cost(u.Cost))
}

// formatTokens formats a count in few characters, such as 1.2k.
func formatTokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// formatSeconds formats a duration as 59 s or 1:00.
func formatSeconds(d time.Duration) string {
	s := int(d.Seconds())
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
