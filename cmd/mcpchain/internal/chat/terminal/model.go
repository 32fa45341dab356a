package terminal

import (
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// The messages of a Terminal to its model.
type (
	waitMsg       bool     // whether the person may enter a question
	noticeMsg     string   // progress line, until the next one, an event of the turn, or the prompt
	unfinishedMsg []string // lines of the unfinished part of an answer
	beginMsg      struct{} // a turn begins
	endMsg        struct{} // a turn ends
	eventMsg      struct{ event agent.Event }
	dropMsg       struct{ ended chan struct{} } // closes a dialog without an answer
	windowMsg     int64                         // size of the model's window in tokens
	syncMsg       struct{}                      // changes nothing; once it was sent, earlier messages have been handled
	tickMsg       time.Time                     // the clock of the status line moves
)

// askMsg opens a dialog.
type askMsg struct {
	dialog dialog
	ended  chan struct{} // closed when the dialog has ended
}

// suggestMsg puts a text into the editor if that is empty.
type suggestMsg struct {
	text     string
	accepted chan<- bool // buffered
}

// model draws the frame below the scrollback. It is the model of the bubbletea program.
type model struct {
	terminal  *Terminal
	interrupt func()
	width     int
	height    int

	editor     editor
	takenBack  string // the text that Ctrl-C put into the editor when it ended a turn
	notice     string
	unfinished []string
	status     status
	dialog     dialog        // nil: keys are for the editor
	ended      chan struct{} // of dialog
	quiet      quiet
}

func newModel(t *Terminal, o Options) *model {
	return &model{terminal: t, interrupt: o.Interrupt, editor: newEditor(t, o.History)}
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return m.editor.init() }

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg.(type) {
	case renderedMsg:
		m.terminal.frame.onRendered()
		return m, nil
	case shrinkMsg:
		lines, _ := m.lines()
		return m, m.terminal.frame.onShrink(len(lines))
	}
	cmd := m.update(msg)
	lines, _ := m.lines()
	return m, tea.Batch(cmd, m.terminal.frame.beginShrink(len(lines)))
}

// update handles all messages but those for frameHeight.
func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case beginMsg:
		m.notice = ""
		m.status.begin(time.Now())
		return tick()
	case endMsg:
		m.notice = ""
		m.status.end()
	case eventMsg:
		m.notice = ""
		m.status.handleEvent(msg.event, time.Now())
	case windowMsg:
		m.status.window = int64(msg)
	case tickMsg:
		if m.status.busy {
			return tick()
		}
	case tea.WindowSizeMsg:
		return m.resize(msg)
	case waitMsg:
		m.notice = ""
		m.wait(bool(msg))
	case noticeMsg:
		m.notice = string(msg)
	case unfinishedMsg:
		m.unfinished = msg
	case suggestMsg:
		msg.accepted <- m.editor.suggest(msg.text)
	case askMsg:
		m.dialog, m.ended = msg.dialog, msg.ended
		return tea.Batch(m.dialog.init(m.width, m.height), m.quiet.begin())
	case dropMsg:
		if m.ended == msg.ended {
			m.dialog = nil
		}
	case quietMsg:
		m.quiet.end(msg)
	case tea.KeyPressMsg:
		return m.handleKey(msg)
	case tea.PasteMsg:
		return m.handleInput(msg)
	default:
		if m.dialog != nil {
			return m.updateDialog(msg)
		}
		return m.editor.update(msg)
	}
	return nil
}

// resize handles a new size of the terminal.
func (m *model) resize(size tea.WindowSizeMsg) tea.Cmd {
	m.width, m.height = size.Width, size.Height
	m.terminal.width.Store(int64(size.Width))
	m.terminal.height.Store(int64(size.Height))
	m.editor.resize(size.Width)
	if m.dialog == nil {
		return nil
	}
	return m.updateDialog(size)
}

// tick returns a command that moves the clock of the status line after a second.
func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }

// handleKey handles the keys that do the same in the editor and in dialogs. It forwards others.
func (m *model) handleKey(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "ctrl+c":
		text := m.editor.text()
		if m.dialog != nil && m.dialog.clear() || m.dialog == nil && m.editor.clear() && text != m.takenBack {
			return nil
		}
		if m.editor.takeBack(len(m.editor.queue)) {
			m.takenBack = m.editor.text()
		}
		return func() tea.Msg { m.interrupt(); return nil }
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	}
	return m.handleInput(k)
}

// handleInput handles a key or a paste. A dialog gets it only after quietTime without keys, so that text for the editor
// cannot answer a question.
func (m *model) handleInput(msg tea.Msg) tea.Cmd {
	if m.dialog != nil && m.quiet.passed {
		return m.updateDialog(msg)
	}
	if m.dialog != nil {
		if k, ok := msg.(tea.KeyPressMsg); ok && (k.String() == "enter" || k.String() == "ctrl+d") {
			return m.quiet.begin()
		}
		if d, ok := m.dialog.(*textDialog); ok && d.secret {
			return m.quiet.begin() // a secret must not appear in the editor
		}
		return tea.Batch(m.editor.update(msg), m.quiet.begin())
	}
	k, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && k.String() == "enter" && m.editor.hasList():
		return m.editor.update(msg)
	case ok && k.String() == "enter":
		m.enter()
		return nil
	case ok && k.String() == "ctrl+d" && m.editor.text() == "":
		if *m.editor.ready {
			m.submit(entry{err: io.EOF})
		}
		return nil
	}
	return m.editor.update(msg)
}

// enter enters the text in the editor, which waits in the queue while no text can be entered.
func (m *model) enter() {
	switch {
	case strings.TrimSpace(m.editor.text()) == "":
	case *m.editor.ready:
		m.submit(entry{text: m.editor.takeText()})
	default:
		m.editor.enqueue()
	}
}

// wait begins or ends the wait for a question, for which the queue may have a text.
func (m *model) wait(ready bool) {
	if ready {
		if text, ok := m.editor.takeQueued(); ok {
			m.terminal.entered <- entry{text: text, queued: true}
			return
		}
	}
	*m.editor.ready = ready
}

// submit ends the wait for a question.
func (m *model) submit(e entry) {
	*m.editor.ready = false
	select {
	case <-m.terminal.output.busy: // from an earlier frame
	default:
	}
	m.terminal.entered <- e // does not block: there is one entry for each wait
}

// updateDialog passes a message to the dialog, and closes the dialog if it has ended.
func (m *model) updateDialog(msg tea.Msg) tea.Cmd {
	cmd, ended := m.dialog.update(msg)
	if ended {
		m.dialog = nil
		close(m.ended)
	}
	return cmd
}

// View implements [tea.Model].
func (m *model) View() tea.View {
	lines, cursor := m.lines()
	for rows := m.terminal.frame.grow(len(lines)); len(lines) < rows; {
		lines = append(lines, "")
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.Cursor = cursor
	return v
}

// lines returns the rows of the frame and the cursor.
func (m *model) lines() (lines []string, cursor *tea.Cursor) {
	faint := func(line string) {
		lines = append(lines, m.terminal.paint.Text(screen.Faint, ansi.Truncate(line, max(1, m.width-1), "…")))
	}
	if m.notice != "" {
		faint(m.notice)
	}
	lines = append(lines, m.unfinished...)
	for _, line := range m.status.view(time.Now(), m.dialog != nil) {
		faint(line)
	}
	queueHint := " (Up takes it back)"
	if m.dialog != nil {
		queueHint = "" // the dialog gets the keys
	}
	for _, line := range m.editor.queueView(max(1, m.width-1), queueHint) {
		faint(line)
	}
	lines = append(lines, "") // separates the conversation from the input
	below, cursor := m.input()
	most := max(1, m.height-1) // one row is for what is printed above
	if drop := len(lines) + len(below) - most; m.height > 0 && drop > 0 {
		lines = lines[min(drop, len(lines)):]
	}
	if cursor != nil {
		cursor.Y += len(lines)
	}
	lines = append(lines, below...)
	if m.height > 0 && len(lines) > most {
		lines = lines[:most]
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(expandTabs(line), max(1, m.width), "…")
	}
	return lines, cursor
}

// input returns the rows of the dialog or the editor, or both while a dialog takes no keys yet.
func (m *model) input() (lines []string, cursor *tea.Cursor) {
	if m.dialog != nil {
		var text string
		text, cursor = m.dialog.view(m.width, m.quiet.passed)
		lines = strings.Split(text, "\n")
		if m.quiet.passed {
			return lines, cursor
		}
	}
	text, cursor := m.editor.view()
	if cursor != nil {
		cursor.Y += len(lines)
	}
	return append(lines, strings.Split(text, "\n")...), cursor
}
