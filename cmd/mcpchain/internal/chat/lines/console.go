// Package lines draws the conversation line by line, for pipes and for terminals
// that cannot move their cursor.
package lines

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/wrap"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Console is a [screen.Screen]: answers on one writer, everything else on the other.
//
// Events of a turn and questions of servers come from different goroutines, so
// all output goes through the console, one text at a time.
type Console struct {
	out, err io.Writer
	in       *Input
	attended bool
	width    func() int // width of the terminal; 0 without one
	wraps    bool       // wrap answers, because out is that terminal
	dumb     bool
	hide     func() (show func(), err error)
	paint    screen.Paint

	notes    notes
	mu       sync.Mutex // guards the fields below and the screen; a dialog holds it to its end
	thinking screen.Thinking
	midway   bool         // an answer is being shown and its line is not finished
	status   bool         // the last line is a progress notice, to be replaced
	waiting  bool         // the last line is the prompt; the person may be typing
	answer   wrap.Wrapper // of the current answer
}

// Options describe the terminal of a person. The zero value is for a pipe.
type Options struct {
	Attended bool
	Width    func() int // of the terminal; nil: lines are not wrapped
	Wraps    bool       // wrap answers too, because they go to that terminal
	Dumb     bool       // the terminal takes no escape sequences

	// Hide stops the terminal from showing what is typed, until show is called. Nil: it
	// cannot.
	Hide func() (show func(), err error)
}

// New returns a console with answers on out and everything else on err.
func New(out, err io.Writer, in *Input, o Options) *Console {
	if o.Width == nil {
		o.Width = func() int { return 0 }
	}
	return &Console{
		out: out, err: err, in: in, attended: o.Attended, width: o.Width, wraps: o.Wraps, dumb: o.Dumb, hide: o.Hide,
		paint: screen.NewPaint(err),
	}
}

// Attended implements [screen.Screen].
func (c *Console) Attended() bool { return c.attended }

// Size implements [screen.Sized]. A terminal that cannot move its cursor has no rows to count.
func (c *Console) Size() (columns, rows int) { return c.width(), 0 }

// Close ends an unfinished line.
func (c *Console) Close() error {
	c.End()
	return nil
}

// Begin implements [screen.Screen].
func (c *Console) Begin() {}

func (c *Console) noteLocked(style screen.Style, format string, args ...any) {
	c.endLineLocked()
	fmt.Fprintln(c.err, c.render(style, fmt.Sprintf(format, args...)))
}

// verbatimLocked shows a safe line without wrapping it: the person may have to
// copy it.
func (c *Console) verbatimLocked(style screen.Style, line string) {
	c.endLineLocked()
	fmt.Fprintln(c.err, c.paint.Text(style, line))
}

// render lays a note out.
func (c *Console) render(style screen.Style, text string) string {
	lines := wrap.Note(text, c.width())
	for i := range lines {
		lines[i] = c.paint.Text(style, lines[i])
	}
	return strings.Join(lines, "\n")
}

// say shows a piece of an answer.
func (c *Console) say(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.midway {
		c.endLineLocked()
		fmt.Fprint(c.err, c.paint.Text(screen.Model, "bot ›")+" ")
		c.midway = true
		width := 0
		if c.wraps {
			width = c.width()
		}
		c.answer = wrap.New(width, len("bot > "))
	}
	fmt.Fprint(c.out, c.answer.Add(hosttext.Prose(text)))
}

// Question implements [screen.Screen].
func (c *Console) Question(ctx context.Context) (string, error) {
	if c.attended {
		c.prompt()
	}
	text, err := c.in.next(ctx)
	c.prompted(err)
	return strings.TrimSpace(text), err
}

// prompt shows that it is the person's turn.
func (c *Console) prompt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promptLocked()
}

func (c *Console) promptLocked() {
	c.endLineLocked()
	fmt.Fprint(c.err, "\n"+c.paint.Text(screen.Person, "you ›")+" ")
	c.waiting = true
}

// prompted notes that the person's line has ended.
func (c *Console) prompted(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.waiting = false
	}
	c.endLineLocked()
}

// End implements [screen.Screen]: it ends an unfinished line.
func (c *Console) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLineLocked()
}

func (c *Console) endLineLocked() {
	switch {
	case c.midway:
		fmt.Fprintln(c.out, c.answer.Flush())
	case c.status:
		fmt.Fprint(c.err, "\r\x1b[K")
	case c.waiting:
		fmt.Fprintln(c.err)
	}
	c.midway, c.status, c.waiting = false, false, false
}

// List shows a line of a command's result. In a pipe it is an answer.
func (c *Console) List(style screen.Style, format string, args ...any) {
	if c.attended {
		c.Note(style, format, args...)
		return
	}
	c.Deliver(fmt.Sprintf(format, args...))
}

// Deliver writes the answer of a turn, for a program to read.
func (c *Console) Deliver(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.out, hosttext.Prose(text))
}
