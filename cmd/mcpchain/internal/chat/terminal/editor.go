package terminal

import (
	"io"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// errEnd is the end of the conversation.
var errEnd = io.EOF

// busyPrompt is the prompt while a text cannot be entered.
const busyPrompt = "···"

// maxRows bounds the rows of the editor. A longer text scrolls.
const maxRows = 10

// editor is where the person writes.
type editor struct {
	area    textarea.Model
	paint   screen.Paint
	history *history
	search  search
	menu    menu
	own     own
	width   int
	ready   *bool // a text can be entered
}

// newArea is an area for a text. Enter is not its key.
func newArea() textarea.Model {
	area := textarea.New()
	area.ShowLineNumbers = false
	area.CharLimit = 1 << 20
	area.MaxHeight = maxRows
	area.MaxContentHeight = 100_000
	area.DynamicHeight = true
	area.SetVirtualCursor(false)
	area.SetStyles(textarea.Styles{Cursor: textarea.CursorStyle{Shape: tea.CursorBlock}})
	area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("shift+enter", "alt+enter", "ctrl+j"))
	area.KeyMap.LinePrevious = key.NewBinding(key.WithKeys("up"))
	area.KeyMap.LineNext = key.NewBinding(key.WithKeys("down"))
	return area
}

func newEditor(paint screen.Paint, file string, complete func() screen.Completer, requests *requests) editor {
	area := newArea()
	ready := new(bool)
	area.SetPromptFunc(6, func(p textarea.PromptInfo) string {
		switch {
		case p.LineNumber > 0:
			return "      "
		case *ready:
			return paint.Text(screen.Person, "you ›") + " "
		}
		return paint.Text(screen.Faint, "  "+busyPrompt) + " "
	})
	return editor{area: area, paint: paint, history: openHistory(file), menu: menu{complete: complete, requests: requests}, ready: ready}
}

func (e *editor) init() tea.Cmd { return e.area.Focus() }

func (e *editor) resize(width int) {
	e.width = width
	e.area.SetWidth(max(12, width))
}

func (e *editor) text() string { return e.area.Value() }

// set replaces the text. The list is of the text before.
func (e *editor) set(text string) {
	e.menu.close()
	e.area.SetValue(text)
}

// take empties the editor, and remembers its text.
func (e *editor) take() string {
	e.menu.close()
	text := strings.TrimSpace(e.area.Value())
	e.history.add(text)
	e.area.Reset()
	return text
}

// clear empties the editor. It is false if there is nothing to clear.
func (e *editor) clear() bool {
	if e.search.on {
		e.search.on = false
		e.set(e.search.draft)
		return true
	}
	e.menu.close()
	if e.area.Value() == "" {
		return false
	}
	e.history.leave()
	e.area.Reset()
	return true
}

// continues turns a backslash at the end into another line.
func (e *editor) continues() bool {
	text, found := strings.CutSuffix(e.area.Value(), `\`)
	if found {
		e.set(text + "\n")
	}
	return found
}

func (e *editor) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case writtenMsg:
		e.set(strings.TrimRight(msg.text, "\n"))
		return nil
	case completedMsg:
		e.completed(msg)
		return nil
	case tea.KeyPressMsg:
		if cmd, taken := e.helped(msg); taken {
			return cmd
		}
		switch msg.String() {
		case "up", "ctrl+p":
			if text, ok := e.history.before(e.area.Value()); e.area.Line() == 0 && ok {
				e.set(text)
				return nil
			}
		case "down", "ctrl+n":
			if text, ok := e.history.after(); e.area.Line() == e.area.LineCount()-1 && ok {
				e.set(text)
				return nil
			}
		case "ctrl+g":
			return e.own.edit(e.area.Value())
		}
	}
	var cmd tea.Cmd
	e.area, cmd = e.area.Update(msg)
	if e.menu.open {
		e.menu.narrow(e.before())
	}
	return cmd
}

// helped passes a key on to the search or the list, if it is for one of them.
func (e *editor) helped(k tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	if e.search.on {
		show, taken := e.search.key(e.history, k)
		if show != nil {
			e.set(*show)
		}
		return nil, taken
	}
	switch name := k.String(); {
	case name == "ctrl+r":
		e.menu.close()
		e.search.begin(e.history, e.area.Value())
	case name == "tab" && !e.menu.open:
		return e.menu.ask(e.before()), true
	case !e.menu.open:
		e.menu.close() // a request is void
		return nil, false
	case name == "tab", name == "down":
		e.menu.move(1)
	case name == "shift+tab", name == "up":
		e.menu.move(-1)
	case name == "enter" && len(e.menu.items) > 0:
		e.choose(e.menu.items[e.menu.at])
	case name == "esc":
		e.menu.close()
	default:
		return nil, false
	}
	return nil, true
}

// takesEnter reports whether Enter is for the search or the list.
func (e *editor) takesEnter() bool {
	return e.search.on || e.menu.open && len(e.menu.items) > 0
}

// completed takes the answer to a request: one item at once, several as a list.
func (e *editor) completed(msg completedMsg) {
	if msg.asked != e.menu.asked || msg.before != e.before() {
		return
	}
	e.menu.show(msg.completion, msg.before)
	switch n := len(e.menu.items); {
	case n == 1:
		e.choose(e.menu.items[0])
	case n > 1:
		part := msg.before[msg.completion.From:]
		if all := common(e.menu.items); len(all) > len(part) && strings.HasPrefix(all, part) {
			e.area.InsertString(all[len(part):])
			e.menu.narrow(e.before())
		}
	}
}

// choose replaces what was typed of an item with the item.
func (e *editor) choose(item screen.Item) {
	for range []rune(e.before()[e.menu.all.From:]) {
		e.area, _ = e.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	text := item.Text
	if !item.Open {
		text += " "
	}
	e.area.InsertString(text)
	e.menu.close()
}

// before is the text up to the cursor.
func (e *editor) before() string {
	lines := strings.Split(e.area.Value(), "\n")
	lines = lines[:min(e.area.Line()+1, len(lines))]
	last := []rune(lines[len(lines)-1])
	lines[len(lines)-1] = string(last[:min(e.area.Column(), len(last))])
	return strings.Join(lines, "\n")
}

// view is the text with what stands below it: a search or a list.
func (e *editor) view() (string, *tea.Cursor) {
	rows := append([]string{e.area.View()}, e.search.view(e.paint)...)
	return strings.Join(append(rows, e.menu.view(e.paint, e.width)...), "\n"), e.area.Cursor()
}
