package lines

import (
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// Show implements [screen.Screen]. A person sees text as it arrives, a script only the answer.
func (c *Console) Show(e agent.Event) {
	c.mu.Lock()
	line := c.thinking.Event(e)
	c.mu.Unlock()
	if line != "" && c.Person {
		c.Note(screen.Faint, "%s", line)
	}
	switch e := e.(type) {
	case *agent.TextDelta:
		if c.Person {
			c.say(e.Text)
		}
	case *agent.ModelEnd:
		switch {
		case c.Person && e.Streamed:
			c.End()
		case e.Text != "" && c.Person:
			c.say(e.Text)
			c.End()
		case e.Text != "" && len(e.ToolCalls) > 0:
			c.Note(screen.Faint, "%s", e.Text)
		}
	case *agent.ToolProgress:
		c.Progress("  %s %s", screen.CallName(&e.Call), screen.Progress(e))
	default:
		hint := ""
		if c.Person {
			hint = screen.ShowHint
		}
		if style, text := screen.EventNote(e, hint); text != "" {
			c.Note(style, "%s", text)
		}
		for _, line := range screen.ResultDiff(e) {
			c.Note(line.Style, "%s", line.Text)
		}
	}
	if e, ok := e.(*agent.Output); ok && !c.Person {
		c.Deliver(e.Text)
	}
}
