package screen

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Bounds of a tool's shown result or error, in characters. The answer has the
// important parts of a result, and the trace has all.
const (
	MaxResult  = 120
	MaxFailure = 400
)

// ShowHint follows a result that is cut, for a person who can ask for all of it.
const ShowHint = " (/show has all)"

// EventNote returns the note about an event, "" for none. More follows a result that is cut.
func EventNote(e agent.Event, more string) (Style, string) {
	switch e := e.(type) {
	case *agent.ToolStart:
		return Tool, fmt.Sprintf("→ %s %s %s", e.Server, CallName(&e.Call), formatArguments(e.Arguments))
	case *agent.ToolEnd:
		return resultNote(e, more)
	case *agent.SamplingEnd:
		if e.Err != nil {
			return Warn, fmt.Sprintf("  %s got no answer of the model: %v", e.Server, e.Err)
		}
		return Faint, fmt.Sprintf("  the model answered %s: %s", e.Server, hosttext.Line(ContentText(e.Result.Content), MaxResult))
	case *agent.ReplyEnd:
		if e.Err != nil {
			return Warn, fmt.Sprintf("  %s got no answer: %v", e.Question.Server, e.Err)
		}
		if e.Reply != nil {
			return Faint, fmt.Sprintf("  answer to %s: %s", e.Question.Server, e.Reply.Action)
		}
	case *agent.ElicitationEnd:
		if e.Err != nil {
			return Warn, fmt.Sprintf("  %s got no answer: %v", e.Server, e.Err)
		}
		return Faint, fmt.Sprintf("  answer to %s: %s", e.Server, e.Result.Action)
	case *agent.Compacted:
		return Faint, fmt.Sprintf("the conversation got long: the oldest %s are short now, or left out, for the model", Plural(e.Replaced, "message"))
	case *agent.Output:
		if e.StopReason != agent.StopOutput {
			return Warn, fmt.Sprintf("the model was stopped by the limit %s", e.StopReason)
		}
	}
	return Plain, ""
}

// formatArguments shows the arguments of a call on one line, and the number of lines of an edit.
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

// resultNote says in one line what became of a tool call. The person sees more of some errors than the model.
func resultNote(e *agent.ToolEnd, more string) (Style, string) {
	style, mark, most := Tool, "←", MaxResult
	if e.Result.IsError {
		style, mark, most = Warn, "✗", MaxFailure
	}
	text := hosttext.Line(e.Result.Text, most)
	if strings.HasSuffix(text, "…") && !strings.HasSuffix(e.Result.Text, "…") {
		text += more
	}
	switch {
	case ResultDiff(e) != nil:
		text = ""
	case errors.Is(e.Result.Err, context.Canceled):
		text = "stopped"
	case e.Result.Err != nil:
		text = hosttext.Line(Explain(e.Result.Err).Error(), MaxFailure)
	}
	return style, strings.TrimRight(fmt.Sprintf("%s %s %s: %s", mark, e.Server, CallName(&e.Call), text), " ")
}

// Explain is an error for a person: if a call took too long, how long, and what gives it longer.
func Explain(err error) error {
	switch late, ok := errors.AsType[*mcpclient.TimeoutError](err); {
	case !ok:
		return err
	case late.Idle:
		return fmt.Errorf("neither an answer nor progress within %v; -idle-timeout gives it longer, or the server's \"timeout\" in the file", late.Limit)
	default:
		return fmt.Errorf("no answer within %v; -call-timeout gives it longer", late.Limit)
	}
}

// Indent is a line of a peer's text with the indent that the program's lines do not have.
func Indent(line string) string { return "  " + strings.ReplaceAll(line, "\t", "    ") }

// Plural writes a count in English.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// CallName is the server's name of the tool, or the model's if there is no such
// tool.
func CallName(c *agent.Call) string {
	if c.Tool == "" {
		return hosttext.Line(c.Name, 100)
	}
	return hosttext.Line(c.Tool, 100)
}

// Progress says how far a call is.
func Progress(e *agent.ToolProgress) string {
	s := fmt.Sprint(e.Progress.Progress)
	if e.Progress.Total != nil {
		s += fmt.Sprintf("/%v", *e.Progress.Total)
	}
	return s + " " + e.Progress.Message
}
