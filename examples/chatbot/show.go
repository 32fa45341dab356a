package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/agent"

	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// show puts an event of the agent on the console. On a terminal it shows text
// as it arrives; in a pipe only the answer.
func (c *console) show(e agent.Event) {
	switch e := e.(type) {
	case *agent.TextDelta:
		if c.interactive {
			c.say(e.Text)
		}
	case *agent.ModelEnd:
		switch {
		case c.interactive && e.Streamed:
			c.endLine()
		case e.Text != "" && c.interactive:
			c.say(e.Text)
			c.endLine()
		case e.Text != "" && len(e.ToolCalls) > 0:
			c.note(c.style.faint, "%s", e.Text)
		}
	case *agent.ToolStart:
		c.note(c.style.tool, "→ %s %s %s", e.Server, callName(&e.Call), safetext.Line(e.Arguments, 200))
	case *agent.ToolProgress:
		c.progress("  %s %s", callName(&e.Call), progressText(e))
	case *agent.ToolEnd:
		c.showResult(e)
	case *agent.SamplingEnd:
		if e.Err != nil {
			c.note(c.style.warn, "  %s got no answer of the model: %v", e.Server, e.Err)
			return
		}
		c.note(c.style.faint, "  the model answered %s: %s", e.Server, safetext.Line(contentText(e.Result.Content), maxResult))
	case *agent.ElicitationEnd:
		if e.Err != nil {
			c.note(c.style.warn, "  %s got no answer: %v", e.Server, e.Err)
			return
		}
		c.note(c.style.faint, "  answer to %s: %s", e.Server, e.Result.Action)
	case *agent.ServerLost:
		c.note(c.style.fail, "lost the server %s: %v", e.Server, e.Err)
	case *agent.Answer:
		if e.StopReason != agent.StopAnswer {
			c.note(c.style.warn, "the model was stopped by the limit %s", e.StopReason)
		}
		if !c.interactive {
			c.deliver(e.Text)
		}
	}
}

// Bounds of a tool's shown result or error, in characters. The answer has the
// important parts of a result, and the trace has all.
const (
	maxResult  = 120
	maxFailure = 400
)

// showResult shows the result of a tool call. The person sees more of some
// errors than the model.
func (c *console) showResult(e *agent.ToolEnd) {
	style, mark, text := c.style.tool, "←", safetext.Line(e.Result.Text, maxResult)
	if e.Result.IsError {
		style, mark, text = c.style.warn, "✗", safetext.Line(e.Result.Text, maxFailure)
	}
	switch {
	case errors.Is(e.Result.Err, context.Canceled):
		text = "stopped"
	case e.Result.Err != nil:
		text = safetext.Line(e.Result.Err.Error(), maxFailure) + longer(e.Result.Err)
	}
	c.note(style, "%s %s %s: %s", mark, e.Server, callName(&e.Call), text)
}

// longer names the flag for more time, if a call took too long.
func longer(err error) string {
	switch late, ok := errors.AsType[*mcpclient.TimeoutError](err); {
	case !ok:
		return ""
	case late.Idle:
		return "; -idle-timeout gives it longer"
	}
	return "; -call-timeout gives it longer"
}

// plural writes a count in English.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// callName is the server's name of the tool, or the model's if there is no such
// tool.
func callName(c *agent.Call) string {
	if c.Tool == "" {
		return safetext.Line(c.Name, 100)
	}
	return safetext.Line(c.Tool, 100)
}

func progressText(e *agent.ToolProgress) string {
	s := fmt.Sprint(e.Progress.Progress)
	if e.Progress.Total != nil {
		s += fmt.Sprintf("/%v", *e.Progress.Total)
	}
	return s + " " + e.Progress.Message
}
