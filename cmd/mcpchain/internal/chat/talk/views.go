package talk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/views"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/hosttext"
)

// toolViews shows the views of tools in the person's browser, if the screen has links.
type toolViews struct {
	screen  screen.Screen
	service *views.Service // nil: views are not shown
}

// open prepares to show the views of tools. Ctrl-C ends the questions that they cause.
func (v *toolViews) open(tools *adapter.Toolset, p *person.Person, interrupts *Interrupts) {
	if _, ok := v.screen.(screen.Linking); !ok {
		return
	}
	v.service = views.New(views.Options{
		Tools:       tools,
		Person:      p,
		OnCallStart: v.onCallStart,
		OnCallEnd:   v.onCallEnd,
		Interruptible: func(ctx context.Context) (context.Context, func()) {
			return interrupts.interruptible(person.InTurn(ctx))
		},
	})
}

// offer shows the address of the view of a tool's result.
func (v *toolViews) offer(e *agent.ToolEnd) {
	link, ok := v.screen.(screen.Linking)
	if v.service == nil || !ok || e.Result.IsError || e.Result.Raw == nil {
		return
	}
	tool := e.Result.Tool
	if tool == nil || tool.ViewURI() == "" {
		return
	}
	address, err := v.service.Offer(tool, json.RawMessage(e.Arguments), e.Result.Raw)
	if err != nil {
		v.screen.Note(screen.Warn, "  a view of %s is not shown: %s", e.Server, hosttext.Line(err.Error(), 400))
		return
	}
	link.Link(screen.Faint, fmt.Sprintf("view of %s %s:", e.Server, screen.CallName(&e.Call)), address)
}

// onCallStart shows that a view calls a tool.
func (v *toolViews) onCallStart(c *views.Call) {
	v.screen.Note(screen.Tool, "→ %s %s %s (by its view)",
		c.Server, hosttext.Line(c.Tool, 100), hosttext.Line(string(c.Arguments), 200))
}

// onCallEnd shows the outcome of a view's call.
func (v *toolViews) onCallEnd(c *views.Call) {
	style, mark, text := screen.Tool, "←", ""
	switch {
	case c.Err != nil:
		style, mark, text = screen.Warn, "✗", c.Err.Error()
	case c.Result.IsError:
		style, mark = screen.Warn, "✗"
	}
	if c.Result != nil {
		text = offering.Content(c.Result.Content)
	}
	v.screen.Note(style, "%s %s %s: %s",
		mark, c.Server, hosttext.Line(c.Tool, 100), hosttext.Line(text, screen.MaxResult))
}

// attachContext adds to a question what views want to tell the model.
func (v *toolViews) attachContext(m *run.Message) {
	if v.service == nil {
		return
	}
	for _, c := range v.service.TakeModelContexts() {
		text := "\n\n" + viewframe.Attribution(c.Server) + fenced(screen.CleanInput(c.Text))
		m.Parts = append(m.Parts, run.Part{Type: run.PartText, Text: text})
		v.screen.Note(screen.Faint, "attached: what a view of %s says, %s", c.Server, formatSize(int64(len(c.Text))))
	}
}

// close closes the views.
func (v *toolViews) close() {
	if v.service != nil {
		v.service.Close()
	}
}
