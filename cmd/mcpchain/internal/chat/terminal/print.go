package terminal

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/markdown"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// printer prints what a [Terminal] shows, and sends messages to its model, in the order of the calls. It may have to wait
// for room on the screen.
type printer struct {
	terminal    *Terminal
	answer      *markdown.Stream // nil: no answer has begun
	answerShown bool             // the answer has lines on the screen
}

// send sends a message to the model, and waits until the model accepts it.
func (p *printer) send(m tea.Msg) { p.terminal.program.Send(m) }

// printQuestion prints a question that was entered, with the prompt before its first line.
func (p *printer) printQuestion(text string) {
	lines := screen.NoteLines(text, p.terminal.columns()-promptWidth)
	for i, line := range lines {
		lines[i] = strings.Repeat(" ", promptWidth) + line
		if i == 0 {
			lines[i] = p.terminal.paint.Text(screen.Person, prompt) + " " + line
		}
	}
	p.print(append([]string{""}, lines...))
}

// addAnswer adds a piece of an answer.
func (p *printer) addAnswer(text string) {
	width := p.terminal.columns() - 1 // a full row would get a space, see printable
	if p.answer == nil {
		p.answer, p.answerShown = markdown.New(width), false
	}
	p.answer.Resize(width) // the person may change the window during the answer
	lines := p.answer.Add(text)
	p.send(unfinishedMsg(p.stripColours(p.answer.Rest())))
	p.printAnswer(lines)
}

// endAnswer prints the rest of the answer.
func (p *printer) endAnswer() {
	if p.answer == nil {
		return
	}
	lines := p.answer.End()
	p.answer = nil
	p.send(unfinishedMsg(nil))
	p.printAnswer(lines)
}

// printAnswer prints finished lines of an answer, below a heading if they are its first.
func (p *printer) printAnswer(lines []string) {
	if len(lines) == 0 {
		return
	}
	if !p.answerShown {
		p.answerShown = true
		p.print([]string{"", p.terminal.paint.Text(screen.Model, answerPrompt)})
	}
	p.print(p.stripColours(lines))
}

// stripColours returns lines without their colours if the terminal has none.
func (p *printer) stripColours(lines []string) []string {
	if p.terminal.paint.Colours() {
		return lines
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = ansi.Strip(line)
	}
	return out
}

// note ends an answer, and prints a note.
func (p *printer) note(style screen.Style, text string) {
	p.endAnswer()
	lines := screen.NoteLines(text, p.terminal.columns())
	for i := range lines {
		lines[i] = p.terminal.paint.Text(style, lines[i])
	}
	p.print(lines)
}

// link ends an answer, and prints a text and an address, which gets a line of its own if both do not fit on one.
func (p *printer) link(style screen.Style, text, address string) {
	p.endAnswer()
	shown := p.terminal.paint.Text(screen.Person, address)
	if ansi.StringWidth(text)+1+ansi.StringWidth(shown) < p.terminal.columns() {
		p.print([]string{p.terminal.paint.Text(style, text) + " " + shown})
		return
	}
	p.note(style, text)
	p.print([]string{"    " + shown})
}

// print prints lines into the scrollback, in portions for which there is room.
func (p *printer) print(lines []string) {
	for len(lines) > 0 {
		var portion []string
		portion, lines = nextPortion(lines, p.terminal.columns(), p.room())
		p.send(tea.Println(strings.Join(portion, "\n"))()) // the command only makes the message
	}
}

// nextPortion returns the lines to print next, and the rest of lines. They fit into room rows of a screen; a line that is
// higher is broken.
func nextPortion(lines []string, width, room int) (portion, rest []string) {
	for i, line := range lines {
		line, height := printable(line, width)
		if height <= room {
			portion = append(portion, line)
			room -= height
			continue
		}
		if i > 0 {
			return portion, lines[i:]
		}
		end := max(2, room*width-1) // the last column stays free, see printable; a character may take two
		return []string{ansi.Cut(line, 0, end)}, append([]string{ansi.Cut(line, end, ansi.StringWidth(line))}, lines[1:]...)
	}
	return portion, nil
}

// printable returns a line that bubbletea prints as it should, and its height in rows. bubbletea counts no columns for a
// tab, so tabs become spaces. After a line it erases the rest of the row, and the last column of a full one, so a blank
// follows that.
func printable(line string, width int) (out string, height int) {
	out = expandTabs(line)
	columns := ansi.StringWidth(out)
	if columns > 0 && columns%width == 0 {
		out += " "
	}
	return out, 1 + columns/width
}

// expandTabs replaces each tab by four spaces, as the library for Markdown does.
func expandTabs(line string) string { return strings.ReplaceAll(line, "\t", "    ") }
