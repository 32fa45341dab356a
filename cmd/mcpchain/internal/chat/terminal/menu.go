package terminal

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Bounds of the list below the editor.
const (
	maxItems = 8  // rows
	maxItem  = 46 // columns of an item's text
)

// menu is the list of completions below the editor.
type menu struct {
	terminal *Terminal
	request  int                // number of the last request; answers to earlier ones are dropped
	cancel   context.CancelFunc // of the last request; nil: none is under way

	open  bool
	all   screen.Completion
	items []screen.Item // those that match what is typed
	index int           // index of the marked item
}

// completionsMsg is the answer to a request for completions.
type completionsMsg struct {
	request    int
	before     string
	completion screen.Completion
}

// complete requests the completions of a text. The request ends with the terminal.
func (m *menu) complete(before string) tea.Cmd {
	m.close()
	completer := m.terminal.completer()
	if completer == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(m.terminal.ctx)
	m.cancel = cancel
	answer := make(chan tea.Msg, 1)
	request := m.request
	m.terminal.goroutines.Go(func() {
		defer cancel()
		answer <- completionsMsg{request, before, completer(ctx, before)}
	})
	return func() tea.Msg { return <-answer }
}

// close closes the list, and cancels a request.
func (m *menu) close() {
	m.open = false
	m.request++
	if m.cancel != nil {
		m.cancel()
		m.cancel = nil
	}
}

// show opens the list with an answer to a request.
func (m *menu) show(c screen.Completion, before string) {
	m.all, m.open = c, true
	m.narrow(before)
}

// narrow keeps the items that match what is typed. It closes the list if the cursor is before the completed part.
func (m *menu) narrow(before string) {
	if m.all.From > len(before) {
		m.close()
		return
	}
	m.items, m.index = m.all.Narrow(before[m.all.From:]), 0
}

// move moves the mark by a number of items, around the ends.
func (m *menu) move(by int) {
	if n := len(m.items); n > 0 {
		m.index = (m.index + by + n) % n
	}
}

// view returns the rows of the list.
func (m *menu) view(paint screen.Paint, width int) (rows []string) {
	if !m.open {
		return nil
	}
	if len(m.items) == 0 {
		return []string{paint.Text(screen.Faint, "      nothing fits")}
	}
	first := min(max(0, m.index-maxItems/2), max(0, len(m.items)-maxItems))
	shown := m.items[first:min(first+maxItems, len(m.items))]
	column := 0
	for _, item := range shown {
		column = max(column, min(maxItem, ansi.StringWidth(item.Text)))
	}
	for i, item := range shown {
		mark, style := "  ", screen.Plain
		if first+i == m.index {
			mark, style = "› ", screen.Person
		}
		text := item.Text
		if width := ansi.StringWidth(text); width > maxItem { // URIs of a server often differ at the end
			text = ansi.Truncate(text, maxItem/2, "") + ansi.TruncateLeft(text, width-maxItem/2+1, "…")
		}
		text = ansi.Truncate(text, maxItem, "")
		text += strings.Repeat(" ", column-ansi.StringWidth(text))
		row := "    " + paint.Text(style, mark+text)
		if about := hosttext.Line(item.About, 200); about != "" {
			row += "  " + paint.Text(screen.Faint, about)
		}
		rows = append(rows, strings.TrimRight(ansi.Truncate(row, max(1, width-1), "…"), " "))
	}
	hint := "Tab next · Enter takes it · Esc closes"
	if more := len(m.items) - len(shown); more > 0 {
		hint = fmt.Sprintf("%d of %d · ", m.index+1, len(m.items)) + hint
	}
	return append(rows, paint.Text(screen.Faint, ansi.Truncate("      "+hint, max(1, width-1), "…")))
}
