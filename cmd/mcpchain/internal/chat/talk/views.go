package talk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/views"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/hosttext"
)

// showViews prepares to show views of tools if the screen has links.
func (s *Session) showViews() {
	if _, ok := s.Screen.(screen.Linking); !ok {
		return
	}
	s.views = views.New(views.Options{
		Tools:       s.tools,
		Person:      s.Person,
		OnCallStart: s.onViewCallStart,
		OnCallEnd:   s.onViewCallEnd,
		Interruptible: func(ctx context.Context) (context.Context, func()) {
			return s.Interrupts.interruptible(person.InTurn(ctx))
		},
	})
}

// offerView shows the address of the view of a tool's result.
func (s *Session) offerView(e *agent.ToolEnd) {
	link, ok := s.Screen.(screen.Linking)
	if s.views == nil || !ok || e.Result.IsError || e.Result.Raw == nil {
		return
	}
	tool := e.Result.Tool
	if tool == nil || tool.ViewURI() == "" {
		return
	}
	address, err := s.views.Offer(tool, json.RawMessage(e.Arguments), e.Result.Raw)
	if err != nil {
		s.Screen.Note(screen.Warn, "  a view of %s is not shown: %s", e.Server, hosttext.Line(err.Error(), 400))
		return
	}
	link.Link(screen.Faint, fmt.Sprintf("view of %s %s:", e.Server, screen.CallName(&e.Call)), address)
}

// onViewCallStart shows that a view calls a tool.
func (s *Session) onViewCallStart(c *views.Call) {
	s.Screen.Note(screen.Tool, "→ %s %s %s (by its view)",
		c.Server, hosttext.Line(c.Tool, 100), hosttext.Line(string(c.Arguments), 200))
}

// onViewCallEnd shows and traces the outcome of a view's call.
func (s *Session) onViewCallEnd(c *views.Call) {
	r := traceLine{
		Type:     "view_call",
		Server:   c.Server,
		Tool:     c.Tool,
		Error:    errorText(c.Err),
		Duration: screen.Milliseconds(c.Duration),
	}
	if len(c.Arguments) > 0 {
		r.Arguments = screen.Arguments(string(c.Arguments))
	}
	style, mark, text := screen.Tool, "←", r.Error
	if c.Result != nil {
		r.Text, r.IsError = screen.ContentText(c.Result.Content), c.Result.IsError
		text = r.Text
	}
	if r.IsError || c.Err != nil {
		style, mark = screen.Warn, "✗"
	}
	s.Trace.write(r)
	s.Screen.Note(style, "%s %s %s: %s",
		mark, c.Server, hosttext.Line(c.Tool, 100), hosttext.Line(text, screen.MaxResult))
}

// attachViewContext adds to a question what views want to tell the model.
func (s *Session) attachViewContext(m *run.Message) {
	if s.views == nil {
		return
	}
	for _, c := range s.views.TakeModelContexts() {
		text := "\n\n" + viewframe.From(c.Server) + fenced("", screen.CleanInput(c.Text))
		m.Parts = append(m.Parts, run.Part{Type: run.PartText, Text: text})
		s.Screen.Note(screen.Faint, "attached: what a view of %s says, %s", c.Server, formatSize(int64(len(c.Text))))
	}
}
