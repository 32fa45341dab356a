package screen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Bounds of the shown text of a tool's result, in characters. The command /show has more of it.
const (
	MaxResult  = 120
	MaxFailure = 400
)

// ShowHint tells a person how to see the rest of a result that was cut.
const ShowHint = " (/show has more)"

// EventNote returns the note that is shown for an event, "" if there is none. hint follows a result
// that was cut. It is not for the events of a replay, where a [agent.ToolEnd] has no result.
func EventNote(e agent.Event, hint string) (Style, string) {
	switch e := e.(type) {
	case *agent.ToolStart:
		return Tool, fmt.Sprintf("→ %s %s %s", e.Server, CallName(&e.Call), formatArguments(e.Arguments))
	case *agent.ToolEnd:
		return resultNote(e, hint)
	case *agent.Sampled:
		if e.Err != nil {
			return Warn, fmt.Sprintf("  %s got no answer of the model: %s", e.Server, errorText(e.Err))
		}
		return Faint, fmt.Sprintf("  the model answered %s: %s",
			e.Server, hosttext.Line(offering.Content(e.Result.Content), MaxResult))
	case *agent.Replied:
		if e.Question.ServerKey == "" {
			break // a question within a call: the event of its answer follows
		}
		return Faint, fmt.Sprintf("  answer to %s: %s", e.Question.Server, e.Reply.Action)
	case *agent.Elicited:
		if e.Err != nil {
			return Warn, fmt.Sprintf("  %s got no answer: %s", e.Server, errorText(e.Err))
		}
		return Faint, fmt.Sprintf("  answer to %s: %s", e.Server, e.Result.Action)
	case *agent.Compacted:
		return Faint, fmt.Sprintf("the conversation got long: the oldest %s are short now, or left out, for the model",
			cli.Plural(e.Replaced, "message"))
	case *agent.Output:
		switch reason := StopReason(e); {
		case reason == model.FinishLength:
			return Warn, "the answer is cut off: it has as many tokens as the model, or -max-tokens, allows"
		case reason == model.FinishRefusal:
			return Warn, "the model or its provider refused to answer, or to say more"
		case e.StopReason != agent.StopOutput:
			return Warn, fmt.Sprintf("the model was stopped by the limit %s", reason)
		}
	}
	return Plain, ""
}

// StopReason returns why a turn ended: that of the agent, or that of the model for an answer that is cut off or refused.
func StopReason(e *agent.Output) string {
	if e.StopReason == agent.StopOutput && (e.FinishReason == model.FinishLength || e.FinishReason == model.FinishRefusal) {
		return e.FinishReason
	}
	return string(e.StopReason)
}

// formatArguments returns the arguments of a call on one line, an edit by its numbers of lines.
func formatArguments(text string) string {
	edits, others := diff.Edits([]byte(text))
	if edits == nil {
		return hosttext.Line(text, 200)
	}
	removed, added := 0, 0
	for _, line := range edits {
		switch line.Kind {
		case diff.Removed:
			removed++
		case diff.Added:
			added++
		}
	}
	return fmt.Sprintf("%s −%d +%d lines", hosttext.Line(string(others), 200), removed, added)
}

// resultNote returns the outcome of a tool call on one line. The person sees more of some errors than the model.
func resultNote(e *agent.ToolEnd, hint string) (Style, string) {
	style, mark, most := Tool, "←", MaxResult
	if e.Result.IsError {
		style, mark, most = Warn, "✗", MaxFailure
	}
	text := hosttext.Line(e.Result.Text, most)
	if strings.HasSuffix(text, "…") && !strings.HasSuffix(e.Result.Text, "…") {
		text += hint
	}
	if e.Result.Err != nil {
		text = errorText(e.Result.Err)
	}
	return style, fmt.Sprintf("%s %s %s: %s", mark, e.Server, CallName(&e.Call), text)
}

// errorText returns an error on one line.
func errorText(err error) string {
	if errors.Is(err, context.Canceled) {
		return "stopped"
	}
	return hosttext.Line(reason.ExplainTimeout(err).Error(), MaxFailure)
}

// CallName returns the server's name of the called tool, or the model's name if there is no such tool.
func CallName(c *agent.Call) string {
	if c.Tool == "" {
		return hosttext.Line(c.Name, 100)
	}
	return hosttext.Line(c.Tool, 100)
}

// Arguments returns the arguments of a call for JSON: as they are, or as a string if they are not JSON.
func Arguments(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// Milliseconds returns a duration for JSON, with three decimals.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Progress returns how far a call is, and the server's message about it.
func Progress(e *agent.ToolProgress) string {
	s := formatNumber(e.Progress.Progress)
	if e.Progress.Total != nil {
		s += "/" + formatNumber(*e.Progress.Total)
	}
	return s + " " + e.Progress.Message
}

// formatNumber formats a number without an exponent, unless it is very large or very small.
func formatNumber(v float64) string {
	if abs := math.Abs(v); abs >= 1e15 || abs > 0 && abs < 1e-6 {
		return fmt.Sprint(v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Thinking sums up the reasoning of a model in one line. The zero value is ready to use.
type Thinking struct {
	begin time.Time // of the reasoning; zero: there was none yet
}

// Output is a screen that shows the answer of a model as it arrives.
type Output interface {
	Note(style Style, format string, args ...any)
	AddAnswer(text string) // shows the next part of an answer
	EndAnswer()            // ends it, unless there is none
}

// Show shows an event to a person, and a line about the reasoning that has ended. The events of one turn come one after the
// other.
func (t *Thinking) Show(out Output, e agent.Event) {
	if line := t.event(e); line != "" {
		out.Note(Faint, "%s", line)
	}
	switch e := e.(type) {
	case *agent.TextDelta:
		out.AddAnswer(e.Text)
	case *agent.ModelEnd:
		if !e.Streamed && e.Text != "" {
			out.AddAnswer(e.Text)
		}
		out.EndAnswer()
	default:
		if style, text := EventNote(e, ShowHint); text != "" {
			out.Note(style, "%s", text)
		}
	}
}

// event handles an event of the agent. It returns a line when reasoning has ended, otherwise "".
func (t *Thinking) event(e agent.Event) (line string) {
	switch e := e.(type) {
	case *agent.ModelStart:
		*t = Thinking{}
	case *agent.ReasoningDelta:
		if t.begin.IsZero() {
			t.begin = e.Time
		}
	case *agent.TextDelta:
		if !t.begin.IsZero() {
			line = reasoningNote(t.begin, e.Time)
			*t = Thinking{}
		}
	case *agent.ModelEnd:
		if e.Reasoning != "" && (!t.begin.IsZero() || !e.Streamed) {
			line = reasoningNote(t.begin, e.Time)
		}
		*t = Thinking{}
	}
	return line
}

// reasoningNote says how long the model thought. A zero begin means that this is not known.
func reasoningNote(begin, end time.Time) string {
	if begin.IsZero() {
		return "thought about it (/reasoning shows it)"
	}
	return fmt.Sprintf("thought for %.0f s (/reasoning shows it)", math.Ceil(max(0, end.Sub(begin)).Seconds()))
}
