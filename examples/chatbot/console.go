package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/charmbracelet/lipgloss"

	"github.com/mcpchain/mcpchain/examples/safetext"
)

// console is the person's screen: answers on out, everything else on err.
//
// Events of a turn and questions of servers come from different goroutines, so
// all output goes through the console, one text at a time.
type console struct {
	out, err    io.Writer
	in          *input
	interactive bool
	width       func() int // width of the terminal; 0 without one
	wraps       bool       // wrap answers, because out is that terminal
	style       styles

	mu      sync.Mutex // guards the fields below and the screen; a dialog holds it to its end
	midway  bool       // an answer is being shown and its line is not finished
	status  bool       // the last line is a progress notice, to be replaced
	waiting bool       // the last line is the prompt; the person may be typing
	answer  wrapper    // of the current answer
}

type styles struct {
	person, model, tool, warn, fail, faint lipgloss.Style
}

// newConsole does not set in, since reading begins later.
func newConsole(out, err io.Writer, interactive bool) *console {
	r := lipgloss.NewRenderer(err)
	color := func(c string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(c)) }
	return &console{
		out: out, err: err, interactive: interactive, width: func() int { return 0 },
		style: styles{
			person: color("6").Bold(true), model: color("2").Bold(true), tool: color("4"),
			warn: color("3"), fail: color("1").Bold(true), faint: r.NewStyle().Faint(true),
		},
	}
}

// note shows a line on the side, and the prompt again if it is in the way.
func (c *console) note(style lipgloss.Style, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting
	c.noteLocked(style, format, args...)
	if waiting {
		c.promptLocked()
	}
}

func (c *console) noteLocked(style lipgloss.Style, format string, args ...any) {
	c.endLineLocked()
	fmt.Fprintln(c.err, c.render(style, fmt.Sprintf(format, args...)))
}

// verbatimLocked shows a safe line without wrapping it: the person may have to
// copy it.
func (c *console) verbatimLocked(style lipgloss.Style, line string) {
	c.endLineLocked()
	fmt.Fprintln(c.err, style.Render(line))
}

// render indents all lines except the first: they may contain a server's text,
// which must not look like a line of the program. It styles each line alone,
// since lipgloss pads several lines to the same width.
func (c *console) render(style lipgloss.Style, text string) string {
	lines := strings.Split(safetext.Exact(text), "\n")
	for i, line := range lines {
		if i > 0 && line != "" && !strings.HasPrefix(line, hanging) {
			lines[i] = hanging + line
		}
	}
	lines = strings.Split(wrap(strings.Join(lines, "\n"), c.width()), "\n")
	for i := range lines {
		lines[i] = style.Render(strings.TrimRight(lines[i], " "))
	}
	return strings.Join(lines, "\n")
}

// progress shows a line that the next one replaces, on a terminal.
func (c *console) progress(format string, args ...any) {
	most := 76
	if width := c.width(); width > 1 {
		most = min(most, width-1)
	}
	text := safetext.Line(fmt.Sprintf(format, args...), most)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interactive {
		fmt.Fprintln(c.err, text)
		return
	}
	c.endLineLocked()
	fmt.Fprint(c.err, c.style.faint.Render(text))
	c.status = true
}

// say shows a piece of an answer.
func (c *console) say(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.midway {
		c.endLineLocked()
		fmt.Fprint(c.err, c.style.model.Render("bot ›")+" ")
		c.midway = true
		c.answer = wrapper{column: lipgloss.Width("bot › ")}
		if c.wraps {
			c.answer.width = c.width()
		}
	}
	fmt.Fprint(c.out, c.answer.add(safetext.Prose(text)))
}

// prompt shows that it is the person's turn.
func (c *console) prompt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promptLocked()
}

func (c *console) promptLocked() {
	c.endLineLocked()
	fmt.Fprint(c.err, "\n"+c.style.person.Render("you ›")+" ")
	c.waiting = true
}

// prompted notes that the person's line has ended.
func (c *console) prompted(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.waiting = false
	}
	c.endLineLocked()
}

// endLine ends an unfinished line.
func (c *console) endLine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLineLocked()
}

func (c *console) endLineLocked() {
	switch {
	case c.midway:
		fmt.Fprintln(c.out, c.answer.flush())
	case c.status:
		fmt.Fprint(c.err, "\r\x1b[K")
	case c.waiting:
		fmt.Fprintln(c.err)
	}
	c.midway, c.status, c.waiting = false, false, false
}

// list shows a line of a command's result. In a pipe it is an answer.
func (c *console) list(style lipgloss.Style, format string, args ...any) {
	if c.interactive {
		c.note(style, format, args...)
		return
	}
	c.deliver(fmt.Sprintf(format, args...))
}

// deliver writes the answer of a turn, for a program to read.
func (c *console) deliver(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.out, safetext.Prose(text))
}

// dialog gives f the screen and the keyboard. Lines typed before are dropped.
func (c *console) dialog(ctx context.Context, f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.in.forget()
	c.endLineLocked()
	return f()
}

// askLocked shows a question and waits for a line. Only a dialog may call it.
func (c *console) askLocked(ctx context.Context, style lipgloss.Style, question string) (string, error) {
	for {
		fmt.Fprint(c.err, c.render(style, question)+" ")
		text, err := c.in.next(ctx)
		if err == errLongLine {
			c.noteLocked(c.style.warn, "%v", err)
			continue
		}
		if err != nil {
			fmt.Fprintln(c.err)
		}
		return strings.TrimSpace(text), err
	}
}

// chooseLocked asks until the answer is one of the letters, or its word in the
// question, as in "[y]es": a line for another question decides nothing.
func (c *console) chooseLocked(ctx context.Context, question, letters string) (byte, error) {
	for {
		text, err := c.askLocked(ctx, c.style.warn, question)
		if err != nil {
			return 0, err
		}
		text = strings.ToLower(text)
		for _, letter := range []byte(letters) {
			_, rest, _ := strings.Cut(question, "["+string(letter)+"]")
			end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })
			if text == string(letter) || text == string(letter)+rest[:max(0, end)] {
				return letter, nil
			}
		}
		c.noteLocked(c.style.faint, "  That is none of the answers: type one of %s.", strings.Join(strings.Split(letters, ""), ", "))
	}
}
