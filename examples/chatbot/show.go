package main

import (
	"fmt"

	"github.com/mcpchain/mcpchain/agent"
)

// show puts an event of the agent on the console. On a terminal text is shown
// as it comes; for a program only the answer counts.
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
		c.note(c.style.tool, "→ %s %s %s", e.Server, callName(&e.Call), oneLine(e.Arguments, 200))
	case *agent.ToolProgress:
		c.progress("  %s %s", callName(&e.Call), progressText(e))
	case *agent.ToolEnd:
		c.showResult(e)
	case *agent.SamplingEnd:
		c.note(c.style.faint, "  %s asked the model: %s", e.Server, oneLine(messagesText(e.Params.Messages), 200))
		if e.Err != nil {
			c.note(c.style.warn, "  it got no answer: %v", e.Err)
			return
		}
		c.note(c.style.faint, "  the model answered: %s", oneLine(contentText(e.Result.Content), 200))
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
			c.answer(e.Text)
		}
	}
}

// showResult shows what became of a tool call. The model is told less about
// some errors than the person is.
func (c *console) showResult(e *agent.ToolEnd) {
	style, mark := c.style.tool, "←"
	if e.Result.IsError {
		style, mark = c.style.warn, "✗"
	}
	text := e.Result.Text
	if e.Result.Err != nil {
		text = e.Result.Err.Error()
	}
	c.note(style, "%s %s %s: %s", mark, e.Server, callName(&e.Call), oneLine(text, 400))
}

// callName is the name of the tool as its server knows it, or as the model
// wrote it when there is no such tool.
func callName(c *agent.Call) string {
	if c.Tool == "" {
		return oneLine(c.Name, 100)
	}
	return oneLine(c.Tool, 100)
}

func progressText(e *agent.ToolProgress) string {
	s := fmt.Sprint(e.Progress.Progress)
	if e.Progress.Total != nil {
		s += fmt.Sprintf("/%v", *e.Progress.Total)
	}
	return s + " " + e.Progress.Message
}
