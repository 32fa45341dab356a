// Package lines shows the conversation line by line, in pipes and on terminals that cannot move their cursor.
package lines

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Console is a [screen.Screen] that writes answers to one writer and everything else to another. During a dialog it
// keeps what others show until the end: they may be reading from a server, and must not wait for the person.
type Console struct {
	opts     Options
	out      io.Writer
	errOut   io.Writer
	in       *Input
	paint    screen.Paint
	thinking screen.Thinking // used by Show alone
	asking   chan struct{}   // has a value during a dialog; room for one

	mu         sync.Mutex // guards the writers, which belong to the dialog while there is one, and the fields below
	unfinished lineKind   // what the last line is
	outErr     error      // the first failure to write an answer; nothing is written after it
	inDialog   bool
	kept       []func() // what to show at the end of the dialog
	notes      int      // how many notes came during the dialog; endDialog says how many were not kept
}

// lineKind is the kind of a line without a line break.
type lineKind int

const (
	noLine       lineKind = iota
	answerLine            // of an answer
	progressLine          // to be erased
	promptLine            // the person may be typing there
)

// Options describe the terminal of a person. The zero value is for a pipe.
type Options struct {
	Person bool       // there is a person to ask
	Width  func() int // returns the columns of the terminal; 0 or nil: notes are not wrapped
	Dumb   bool       // the terminal takes no escape sequences

	// Hide stops the terminal from showing what is typed, until show is called. If it is nil, that is not possible.
	Hide func() (show func(), err error)
}

// New returns a console with answers on out and everything else on errOut.
func New(out, errOut io.Writer, in *Input, o Options) *Console {
	if o.Width == nil {
		o.Width = func() int { return 0 }
	}
	return &Console{
		opts: o, out: out, errOut: errOut, in: in, paint: screen.NewPaint(errOut), asking: make(chan struct{}, 1),
	}
}

// Attended implements [screen.Screen].
func (c *Console) Attended() bool { return c.opts.Person }

// Close ends an unfinished line. It returns an error if an answer could not be written.
func (c *Console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLineLocked()
	if c.outErr != nil {
		return fmt.Errorf("write the answer: %w", c.outErr)
	}
	return nil
}

// show calls f, which writes, with the lock: now, or at the end of the dialog.
func (c *Console) show(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inDialog {
		c.kept = append(c.kept, f)
		return
	}
	f()
}

// writeAnswerLocked writes a part of an answer.
func (c *Console) writeAnswerLocked(text string) {
	if c.outErr == nil {
		_, c.outErr = io.WriteString(c.out, text)
	}
}

// endLineLocked ends an unfinished line, so that the next text begins a line.
func (c *Console) endLineLocked() {
	switch c.unfinished {
	case answerLine:
		c.writeAnswerLocked("\n")
	case progressLine:
		fmt.Fprint(c.errOut, "\r\x1b[K")
	case promptLine:
		fmt.Fprintln(c.errOut)
	}
	c.unfinished = noLine
}

// maxNotes bounds the notes that are kept during a dialog.
const maxNotes = 200

// Note implements [screen.Screen]. If the person may be typing a question, the prompt is shown again after the note.
func (c *Console) Note(style screen.Style, format string, args ...any) {
	if !c.hasRoom() {
		return
	}
	text := fmt.Sprintf(format, args...)
	c.show(func() {
		wasPrompt := c.unfinished == promptLine
		c.endLineLocked()
		c.write(style, "%s", text)
		if wasPrompt {
			c.promptLocked()
		}
	})
}

// hasRoom reports whether another note can be shown or kept, and counts it if it comes during a dialog.
func (c *Console) hasRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inDialog {
		c.notes++
	}
	return c.notes <= maxNotes
}

// write writes a note of one or more lines. The caller has the dialog, or the lock and no unfinished line.
func (c *Console) write(style screen.Style, format string, args ...any) {
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

// maxProgress bounds a line of progress, in columns: only one row can be erased.
const maxProgress = 76

// Progress implements [screen.Screen]. It does nothing during a dialog. Where a row cannot be erased, each line stays.
func (c *Console) Progress(format string, args ...any) {
	limit := maxProgress
	if width := c.opts.Width(); width > 1 {
		limit = min(limit, width-1)
	}
	text := ansi.Truncate(hosttext.Line(fmt.Sprintf(format, args...), limit), limit, "…")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inDialog {
		return
	}
	c.endLineLocked()
	if !c.opts.Person || c.opts.Dumb {
		fmt.Fprintln(c.errOut, text)
		return
	}
	fmt.Fprint(c.errOut, c.paint.Text(screen.Faint, text))
	c.unfinished = progressLine
}

// Question implements [screen.Screen]. A note meanwhile repeats the prompt.
func (c *Console) Question(ctx context.Context) (string, error) {
	if c.opts.Person {
		c.show(c.promptLocked)
	}
	text, err := c.in.next(ctx)
	c.show(func() {
		if err == nil || err == errLongLine {
			c.unfinished = noLine // the person's line break has ended the line
		}
		c.endLineLocked()
	})
	return strings.TrimSpace(text), err
}

// promptLocked shows the prompt of a question.
func (c *Console) promptLocked() {
	c.endLineLocked()
	fmt.Fprint(c.errOut, "\n"+c.paint.Text(screen.Person, "you ›")+" ")
	c.unfinished = promptLine
}

// Begin implements [screen.Screen]. There is no sign of a turn before its first event.
func (c *Console) Begin() {}

// End implements [screen.Screen]: it ends an unfinished line.
func (c *Console) End() { c.show(c.endLineLocked) }

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
	c.show(func() { c.writeAnswerLocked(hosttext.Prose(text) + "\n") })
}

// Show implements [screen.Screen]. A person sees text as it arrives, a script the answer alone as output and the rest
// as notes.
func (c *Console) Show(e agent.Event) {
	if e, ok := e.(*agent.ToolProgress); ok {
		c.Progress("  %s %s", screen.CallName(&e.Call), screen.Progress(e))
	}
	if c.opts.Person {
		c.thinking.Show(c, e)
		return
	}
	if style, text := screen.EventNote(e, ""); text != "" {
		c.Note(style, "%s", text)
	}
	switch e := e.(type) {
	case *agent.ModelEnd:
		if e.Text != "" && len(e.ToolCalls) > 0 {
			c.Note(screen.Faint, "%s", e.Text)
		}
	case *agent.Output:
		c.Deliver(e.Text)
	}
}

// EndAnswer implements [screen.Output].
func (c *Console) EndAnswer() { c.End() }

// AddAnswer implements [screen.Output].
func (c *Console) AddAnswer(text string) {
	c.show(func() {
		if c.unfinished != answerLine {
			c.endLineLocked()
			fmt.Fprint(c.errOut, c.paint.Text(screen.Model, "bot ›")+" ")
			c.unfinished = answerLine
		}
		c.writeAnswerLocked(hosttext.Prose(text))
	})
}

var _ screen.Screen = (*Console)(nil)
