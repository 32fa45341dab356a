package terminal

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
)

// busyPrompt is the prompt while no text can be entered.
const busyPrompt = "···"

// Bounds of a text area. What is typed beyond the last two is dropped.
const (
	minColumns  = 12 // even on a narrower screen
	maxRows     = 10 // on the screen; a longer text scrolls
	maxTextRows = 100_000
	maxText     = 1 << 20 // characters
)

// maxQueueRows bounds the texts of the queue that are shown.
const maxQueueRows = 3

// editor edits the text that the person types.
type editor struct {
	area    textarea.Model
	paint   screen.Paint
	history *history
	queue   []string // entered while no text can be entered, the oldest first
	menu    menu
	width   int
	ready   *bool // a text can be entered; a pointer, because the prompt function of the area reads it
}

// newArea returns a text area in which Enter is not a line break, as it sends the text, and no key
// selects: without colours a selection is not visible, and the next key would replace it.
func newArea() textarea.Model {
	area := textarea.New()
	area.ShowLineNumbers = false
	area.CharLimit = maxText
	area.MaxHeight = maxRows
	area.MaxContentHeight = maxTextRows
	area.DynamicHeight = true
	area.SetVirtualCursor(false)
	area.SetStyles(textarea.Styles{Cursor: textarea.CursorStyle{Shape: tea.CursorBlock}})
	keys := &area.KeyMap
	keys.InsertNewline = key.NewBinding(key.WithKeys("shift+enter", "alt+enter", "ctrl+j"))
	for _, selects := range []*key.Binding{
		&keys.SelectCharacterForward, &keys.SelectCharacterBackward, &keys.SelectWordForward, &keys.SelectWordBackward,
		&keys.SelectLineUp, &keys.SelectLineDown, &keys.SelectAll,
	} {
		selects.Unbind()
	}
	return area
}

// newEditor returns an editor with the history in a file, see [openHistory].
func newEditor(t *Terminal, file string) editor {
	area := newArea()
	ready := new(bool)
	area.SetPromptFunc(promptWidth, func(p textarea.PromptInfo) string {
		switch {
		case p.LineNumber > 0:
			return strings.Repeat(" ", promptWidth)
		case *ready:
			return t.paint.Text(screen.Person, prompt) + " "
		}
		return t.paint.Text(screen.Faint, "  "+busyPrompt) + " "
	})
	return editor{
		area:    area,
		paint:   t.paint,
		history: openHistory(file),
		menu:    menu{terminal: t},
		ready:   ready,
	}
}

func (e *editor) init() tea.Cmd { return e.area.Focus() }

func (e *editor) resize(width int) {
	e.width = width
	e.area.SetWidth(max(minColumns, width))
}

func (e *editor) text() string { return e.area.Value() }

// setText replaces the text, and closes the list of completions for the old text.
func (e *editor) setText(text string) {
	e.menu.close()
	e.area.SetValue(text)
}

// suggest sets the text if there is none. It reports whether it did.
func (e *editor) suggest(text string) bool {
	isEmpty := e.text() == ""
	if isEmpty {
		e.setText(text)
	}
	return isEmpty
}

// takeText empties the editor, adds its text to the history and returns it.
func (e *editor) takeText() string {
	e.menu.close()
	text := strings.TrimSpace(e.area.Value())
	e.history.add(text)
	e.area.Reset()
	return text
}

// enqueue takes the text for later.
func (e *editor) enqueue() { e.queue = append(e.queue, e.takeText()) }

// takeQueued returns the oldest text of the queue, false if there is none.
func (e *editor) takeQueued() (string, bool) {
	if len(e.queue) == 0 {
		return "", false
	}
	text := e.queue[0]
	e.queue = e.queue[1:]
	return text, true
}

// takeBack puts the newest n texts of the queue before the text in the editor. It returns false if the queue is empty.
func (e *editor) takeBack(n int) bool {
	if len(e.queue) == 0 {
		return false
	}
	from := max(0, len(e.queue)-n)
	texts := slices.Clone(e.queue[from:])
	e.queue = e.queue[:from]
	if text := e.text(); text != "" {
		texts = append(texts, text)
	}
	e.history.reset()
	e.setText(strings.Join(texts, "\n"))
	return true
}

// clear empties the editor. It returns false if the editor is empty already.
func (e *editor) clear() bool {
	e.menu.close()
	if e.area.Value() == "" {
		return false
	}
	e.history.reset()
	e.area.Reset()
	return true
}

// update handles a message. A key that neither the editor nor its list uses is for the text area.
func (e *editor) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case completionsMsg:
		e.onCompletions(msg)
		return nil
	case tea.KeyPressMsg:
		if cmd, handled := e.handleKey(msg); handled {
			return cmd
		}
		switch msg.String() {
		case "esc":
			e.takeBack(1)
			return nil
		case "up", "ctrl+p":
			if e.area.Line() > 0 || e.area.LineInfo().RowOffset > 0 {
				break // the cursor moves
			}
			if e.history.showsDraft() && e.takeBack(1) {
				return nil
			}
			if text, ok := e.history.older(e.area.Value()); ok {
				e.setText(text)
				return nil
			}
		case "down", "ctrl+n":
			if line := e.area.LineInfo(); e.area.Line() < e.area.LineCount()-1 || line.RowOffset < line.Height-1 {
				break // the cursor moves
			}
			if text, ok := e.history.newer(); ok {
				e.setText(text)
				return nil
			}
		}
	}
	var cmd tea.Cmd
	e.area, cmd = e.area.Update(msg)
	if e.menu.open {
		e.menu.narrow(e.textBeforeCursor())
	}
	return cmd
}

// handleKey handles a key of the list. It returns false for other keys.
func (e *editor) handleKey(k tea.KeyPressMsg) (cmd tea.Cmd, handled bool) {
	switch name := k.String(); {
	case name == "tab" && !e.menu.open:
		return e.menu.complete(e.textBeforeCursor()), true
	case !e.menu.open:
		e.menu.close() // cancels a request for completions
		return nil, false
	case name == "tab", name == "down":
		e.menu.move(1)
	case name == "shift+tab", name == "up":
		e.menu.move(-1)
	case name == "enter" && len(e.menu.items) > 0:
		e.insertItem(e.menu.items[e.menu.index])
	case name == "esc":
		e.menu.close()
	default:
		return nil, false
	}
	return nil, true
}

// hasList reports whether a list with items is open, which then handles Enter.
func (e *editor) hasList() bool { return e.menu.open && len(e.menu.items) > 0 }

// onCompletions handles the answer to a request for completions. It inserts a single one, or lists several. It ignores an
// answer for an earlier text.
func (e *editor) onCompletions(msg completionsMsg) {
	if msg.request != e.menu.request || msg.before != e.textBeforeCursor() {
		return
	}
	e.menu.show(msg.completion, msg.before)
	if len(e.menu.items) == 1 {
		e.insertItem(e.menu.items[0])
	}
}

// insertItem replaces the typed part of an item with the item.
func (e *editor) insertItem(item screen.Item) {
	for range []rune(e.textBeforeCursor()[e.menu.all.From:]) {
		e.area, _ = e.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	text := item.Text
	if !item.Open {
		text += " "
	}
	e.area.InsertString(text)
	e.menu.close()
}

// textBeforeCursor returns the text up to the cursor. The library counts the column in characters of the line.
func (e *editor) textBeforeCursor() string {
	lines := strings.Split(e.area.Value(), "\n")
	lines = lines[:min(e.area.Line()+1, len(lines))]
	last := []rune(lines[len(lines)-1])
	lines[len(lines)-1] = string(last[:min(e.area.Column(), len(last))])
	return strings.Join(lines, "\n")
}

// queueView returns a line of at most width columns for each of the newest texts of the queue. hint follows the last one.
func (e *editor) queueView(width int, hint string) (lines []string) {
	shown := e.queue[max(0, len(e.queue)-maxQueueRows):]
	if others := len(e.queue) - len(shown); others > 0 {
		lines = append(lines, "  next › "+cli.Plural(others, "other")+", then")
	}
	for i, text := range shown {
		end := ""
		if i == len(shown)-1 {
			end = hint
		}
		line := "  next › " + hosttext.Line(text, max(minColumns, width))
		lines = append(lines, ansi.Truncate(line, max(0, width-len(end)), "…")+end)
	}
	return lines
}

// view returns the text, with the list below it, and the cursor.
func (e *editor) view() (string, *tea.Cursor) {
	rows := append([]string{e.area.View()}, e.menu.view(e.paint, e.width)...)
	return strings.Join(rows, "\n"), e.area.Cursor()
}
