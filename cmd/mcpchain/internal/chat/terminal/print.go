package terminal

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/markdown"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// printQuestion prints a question that was entered, with the prompt before its first line.
func (t *Terminal) printQuestion(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := screen.NoteLines(text, t.columns()-promptWidth)
	for i, line := range lines {
		lines[i] = strings.Repeat(" ", promptWidth) + line
		if i == 0 {
			lines[i] = t.paint.Text(screen.Person, prompt) + " " + line
		}
	}
	t.printLocked(append([]string{""}, lines...))
}

// AddAnswer implements [screen.Output].
func (t *Terminal) AddAnswer(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answer == nil {
		t.answer, t.answerShown = markdown.New(max(1, t.columns()-1)), false // a full row would get a space, see printLocked
	}
	lines := t.answer.Add(text)
	t.send(unfinishedMsg(t.withoutColours(t.answer.Rest())))
	t.printAnswerLocked(lines)
}

// EndAnswer implements [screen.Output].
func (t *Terminal) EndAnswer() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endAnswerLocked()
}

// endAnswerLocked prints the rest of the answer.
func (t *Terminal) endAnswerLocked() {
	if t.answer == nil {
		return
	}
	lines := t.answer.End()
	t.answer = nil
	t.send(unfinishedMsg(nil))
	t.printAnswerLocked(lines)
}

// printAnswerLocked prints finished lines of an answer, below a heading if they are its first.
func (t *Terminal) printAnswerLocked(lines []string) {
	if len(lines) == 0 {
		return
	}
	if !t.answerShown {
		lines = append([]string{"", t.paint.Text(screen.Model, "bot ›")}, lines...)
	}
	t.answerShown = true
	t.printLocked(t.withoutColours(lines))
}

// withoutColours removes the colours from lines in place, unless the terminal has colours.
func (t *Terminal) withoutColours(lines []string) []string {
	if t.paint.Colours() {
		return lines
	}
	for i := range lines {
		lines[i] = ansi.Strip(lines[i])
	}
	return lines
}

// noteLocked prints a note.
func (t *Terminal) noteLocked(style screen.Style, text string) {
	lines := screen.NoteLines(text, t.columns())
	for i := range lines {
		lines[i] = t.paint.Text(style, lines[i])
	}
	t.printLocked(lines)
}

// printLocked prints lines into the scrollback, in portions that fit on the screen. It may wait for
// room, see [Terminal.room]. It changes lines: the renderer counts no columns for a tab, and a row too many for a line
// that fills its last row.
func (t *Terminal) printLocked(lines []string) {
	width := t.columns()
	for len(lines) > 0 {
		portion := t.room()
		n, rows := 0, 0
		for ; n < len(lines) && (n == 0 || rows < portion); n++ {
			lines[n] = expandTabs(lines[n])
			columns := ansi.StringWidth(lines[n])
			if columns > 0 && columns%width == 0 {
				lines[n] += " "
			}
			rows += 1 + columns/width
		}
		t.send(tea.Println(strings.Join(lines[:n], "\n"))())
		lines = lines[n:]
	}
}

// expandTabs replaces each tab by four spaces, as the library for Markdown does.
func expandTabs(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

// Link implements [screen.Linking]. The address gets a row of its own if both do not fit on one.
func (t *Terminal) Link(style screen.Style, text, address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endAnswerLocked()
	text = "  " + hosttext.Line(text, maxPrompt)
	shown := t.paint.Text(screen.Person, hosttext.Line(address, maxAddress))
	if ansi.StringWidth(text)+1+ansi.StringWidth(shown) < t.columns() {
		t.printLocked([]string{t.paint.Text(style, text) + " " + shown})
		return
	}
	t.noteLocked(style, text)
	t.printLocked([]string{"    " + shown})
}

// maxAddress bounds a shown address, in characters.
const maxAddress = 2000

// Suggest implements [screen.Linking].
func (t *Terminal) Suggest(text string) bool {
	accepted := make(chan bool, 1)
	t.send(suggestMsg{text, accepted})
	select {
	case ok := <-accepted:
		return ok
	case <-t.done:
		return false
	}
}

var _ screen.Linking = (*Terminal)(nil)
