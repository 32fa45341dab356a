// Package lines shows the conversation line by line, in pipes and on terminals that cannot move
// their cursor.
package lines

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Console is a [screen.Screen] that writes answers to one writer and everything else to another.
type Console struct {
	opts     Options
	out      *output
	errOut   io.Writer
	in       *Input
	paint    screen.Paint
	notes    notes
	thinking screen.Thinking // used by Show alone

	mu          sync.Mutex // guards the writers and the fields below; a dialog holds it until its end
	inAnswer    bool       // a line of an answer is not finished
	hasProgress bool       // the last line is a progress notice, to be replaced
	hasPrompt   bool       // the last line is the prompt, and the person may be typing
}

// Options describe the terminal of a person. The zero value is for a pipe.
type Options struct {
	Person bool       // there is a person to ask
	Width  func() int // returns the columns of the terminal; 0 or nil: notes are not wrapped
	Dumb   bool       // the terminal takes no escape sequences

	// Hide stops the terminal from showing what is typed, until show is called. If it is nil, that
	// is not possible.
	Hide func() (show func(), err error)
}

// New returns a console with answers on out and everything else on err.
func New(out, err io.Writer, in *Input, o Options) *Console {
	if o.Width == nil {
		o.Width = func() int { return 0 }
	}
	return &Console{opts: o, out: &output{Writer: out}, errOut: err, in: in, paint: screen.NewPaint(err)}
}

// Attended implements [screen.Screen].
func (c *Console) Attended() bool { return c.opts.Person }

// Close ends an unfinished line. It returns an error if an answer could not be written.
func (c *Console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLineLocked()
	if c.out.err != nil {
		return fmt.Errorf("write the answer: %w", c.out.err)
	}
	return nil
}

// output is a writer that remembers its first error.
type output struct {
	io.Writer
	err error
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// Begin implements [screen.Screen].
func (c *Console) Begin() {}

// noteLocked writes a note, below an unfinished line.
func (c *Console) noteLocked(style screen.Style, format string, args ...any) {
	c.endLineLocked()
	fmt.Fprintln(c.errOut, c.render(style, fmt.Sprintf(format, args...)))
}

// render escapes, wraps and styles a note.
func (c *Console) render(style screen.Style, text string) string {
	lines := screen.NoteLines(text, c.opts.Width())
	for i := range lines {
		lines[i] = c.paint.Text(style, lines[i])
	}
	return strings.Join(lines, "\n")
}

// addAnswer shows the next part of an answer.
func (c *Console) addAnswer(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.inAnswer {
		c.endLineLocked()
		fmt.Fprint(c.errOut, c.paint.Text(screen.Model, "bot ›")+" ")
		c.inAnswer = true
	}
	fmt.Fprint(c.out, hosttext.Prose(text))
}

// Question implements [screen.Screen].
func (c *Console) Question(ctx context.Context) (string, error) {
	if c.opts.Person {
		c.mu.Lock()
		c.promptLocked()
		c.mu.Unlock()
	}
	text, err := c.in.next(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.hasPrompt = false // the person's line break has ended the line
	}
	c.endLineLocked()
	return strings.TrimSpace(text), err
}

// promptLocked shows the prompt of a question.
func (c *Console) promptLocked() {
	c.endLineLocked()
	fmt.Fprint(c.errOut, "\n"+c.paint.Text(screen.Person, "you ›")+" ")
	c.hasPrompt = true
}

// End implements [screen.Screen]: it ends an unfinished line.
func (c *Console) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLineLocked()
}

// endLineLocked ends an answer or a prompt, or erases a progress notice, so that the next text
// begins a line.
func (c *Console) endLineLocked() {
	switch {
	case c.inAnswer:
		fmt.Fprintln(c.out)
	case c.hasProgress:
		fmt.Fprint(c.errOut, "\r\x1b[K")
	case c.hasPrompt:
		fmt.Fprintln(c.errOut)
	}
	c.inAnswer, c.hasProgress, c.hasPrompt = false, false, false
}

// List implements [screen.Screen]. In a pipe the line is an answer.
func (c *Console) List(style screen.Style, format string, args ...any) {
	if c.opts.Person {
		c.Note(style, format, args...)
		return
	}
	c.Deliver(fmt.Sprintf(format, args...))
}

// Deliver implements [screen.Screen].
func (c *Console) Deliver(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.out, hosttext.Prose(text))
}

// Show implements [screen.Screen]. A person sees text as it arrives, a script the answer alone as output and the rest as
// notes. During a dialog only text of the model waits for its end; other events must not hold up the run.
func (c *Console) Show(e agent.Event) {
	if line := c.thinking.Event(e); line != "" && c.opts.Person {
		c.Note(screen.Faint, "%s", line)
	}
	switch e := e.(type) {
	case *agent.TextDelta:
		if c.opts.Person {
			c.addAnswer(e.Text)
		}
	case *agent.ModelEnd:
		c.showModelEnd(e)
	case *agent.ToolProgress:
		c.Progress("  %s %s", screen.CallName(&e.Call), screen.Progress(e))
	default:
		hint := ""
		if c.opts.Person {
			hint = screen.ShowHint
		}
		if style, text := screen.EventNote(e, hint); text != "" {
			c.Note(style, "%s", text)
		}
	}
	if e, ok := e.(*agent.Output); ok && !c.opts.Person {
		c.Deliver(e.Text)
	}
}

// showModelEnd shows the text of a reply, as far as it was not shown while it arrived. A script
// gets the text before tool calls as a note.
func (c *Console) showModelEnd(e *agent.ModelEnd) {
	switch {
	case c.opts.Person && e.Streamed:
		c.End()
	case e.Text != "" && c.opts.Person:
		c.addAnswer(e.Text)
		c.End()
	case e.Text != "" && len(e.ToolCalls) > 0:
		c.Note(screen.Faint, "%s", e.Text)
	}
}
