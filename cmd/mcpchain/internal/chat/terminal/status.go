package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
)

// awaitingModel is what the status line says before the first sign of a reply.
const awaitingModel = "waiting for the model"

// status is the state of the turn, for the lines of calls and the status line.
type status struct {
	busy   bool      // a turn is under way
	since  time.Time // the turn began
	doing  string    // what the model does, such as thinking
	calls  []*call   // that are under way, the oldest first
	window int64     // size of the model's window in tokens; 0: unknown

	turn, total run.Usage // spent by this turn, and by all turns on this screen
	context     int64     // tokens of the last model call, with its reply
}

// call is a tool call that is under way.
type call struct {
	id      string
	name    string // the server and the tool
	since   time.Time
	message string // progress in numbers, and the server's message
}

func (s *status) begin(now time.Time) {
	s.busy, s.since, s.doing = true, now, awaitingModel
	s.calls, s.turn = nil, run.Usage{}
}

func (s *status) end() { s.busy, s.calls = false, nil }

// handleEvent handles an event of the turn.
func (s *status) handleEvent(e agent.Event, now time.Time) {
	switch e := e.(type) {
	case *agent.ModelStart:
		s.doing = awaitingModel
	case *agent.ReasoningDelta:
		s.doing = "thinking"
	case *agent.TextDelta:
		s.doing = "answering"
	case *agent.ModelEnd:
		s.doing = "working"
		s.context = e.Usage.Input + e.Usage.Output
		s.addUsage(e.Usage)
	case *agent.Sampled:
		s.addUsage(e.Usage)
	case *agent.ToolStart:
		name := hosttext.Line(e.Server+" "+screen.CallName(&e.Call), maxCallText)
		s.calls = append(s.calls, &call{id: e.ID, name: name, since: now})
	case *agent.ToolProgress:
		s.progress(e)
	case *agent.ToolEnd:
		s.calls = slices.DeleteFunc(s.calls, func(c *call) bool { return c.id == e.ID })
	}
}

// maxCallText bounds the name of a call, and its message, in characters.
const maxCallText = 60

// addUsage adds to the usage of this turn and of all turns.
func (s *status) addUsage(u run.Usage) {
	s.turn.Add(u)
	s.total.Add(u)
}

// progress updates a call. It ignores calls that have ended.
func (s *status) progress(e *agent.ToolProgress) {
	i := slices.IndexFunc(s.calls, func(c *call) bool { return c.id == e.ID })
	if i < 0 {
		return
	}
	s.calls[i].message = hosttext.Line(screen.Progress(e), maxCallText)
}

// view returns a line for each call, and one for the turn; none between turns. asking means that the person is asked.
func (s *status) view(now time.Time, asking bool) (lines []string) {
	if !s.busy {
		return nil
	}
	for _, c := range s.calls {
		line := fmt.Sprintf("  ⋯ %s %s", c.name, formatSeconds(now.Sub(c.since)))
		lines = append(lines, strings.TrimRight(line+" "+c.message, " "))
	}
	doing := s.doing
	switch {
	case asking:
		doing = "waiting for you"
	case len(s.calls) == 1:
		doing = "running " + s.calls[0].name
	case len(s.calls) > 1:
		doing = "running " + cli.Plural(len(s.calls), "tool")
	}
	parts := []string{doing, formatSeconds(now.Sub(s.since))}
	if s.turn.Turns > 0 {
		parts = append(parts, formatSpent(&s.turn))
	}
	if s.total.Turns != s.turn.Turns {
		parts = append(parts, "in all "+formatSpent(&s.total))
	}
	if s.window > 0 && s.context > 0 {
		parts = append(parts, fmt.Sprintf("%d%% of the context", s.context*100/s.window))
	}
	return append(lines, "● "+strings.Join(append(parts, "Ctrl-C stops"), " · "))
}

// formatSpent formats tokens and cost as ↑1.2k ↓300 0.12 USD, without the cost if it is not known.
func formatSpent(u *run.Usage) string {
	tokens := "↑" + formatTokens(u.Input) + " ↓" + formatTokens(u.Output)
	return strings.TrimSpace(tokens + " " + screen.Cost(u.Cost))
}

// formatTokens formats a count as 999, 1.2k or 3.4M.
func formatTokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// formatSeconds formats a duration as 59 s, or as 1:00 from a minute on.
func formatSeconds(d time.Duration) string {
	s := int(d.Seconds())
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
