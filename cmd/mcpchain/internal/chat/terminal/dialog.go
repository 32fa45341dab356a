package terminal

import (
	"context"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// dialog is a question that has the keyboard. All methods except finished are called by the model only.
type dialog interface {
	init(width, height int) tea.Cmd
	update(msg tea.Msg) tea.Cmd

	// view returns the dialog and the cursor in it. It takes keys when it is ready.
	view(width int, ready bool) (string, *tea.Cursor)

	// clear empties the field that has the keyboard. It reports false if the field is empty.
	clear() bool

	// answered reports whether the dialog is over, and finished returns a channel that is closed then.
	answered() bool
	finished() <-chan struct{}
}

// completion is the end of a dialog.
type completion struct {
	over bool
	done chan struct{}
}

func newCompletion() completion { return completion{done: make(chan struct{})} }

func (c *completion) finish() {
	c.over = true
	close(c.done)
}

func (c *completion) answered() bool            { return c.over }
func (c *completion) finished() <-chan struct{} { return c.done }

// maxPrompt bounds the text of a question beside what the person types, in characters. It may have a peer's name.
const maxPrompt = 400

// ask shows a dialog and waits for its end. The dialogs of other goroutines wait until then.
func (t *Terminal) ask(ctx context.Context, d dialog) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return t.askLocked(ctx, d)
}

// askLocked shows a dialog after everything that was printed, and waits for its end.
func (t *Terminal) askLocked(ctx context.Context, d dialog) error {
	t.send(askMsg{d})
	select {
	case <-d.finished():
		return nil
	case <-ctx.Done():
		t.send(dropMsg{d})
		return context.Cause(ctx)
	case <-t.done:
		return io.EOF
	}
}

// lock waits until no other goroutine asks the person.
func (t *Terminal) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case t.asking <- struct{}{}:
		if ctx.Err() != nil {
			<-t.asking
			return nil, context.Cause(ctx)
		}
		return func() { <-t.asking }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.done:
		return nil, io.EOF
	}
}

// wordwrap breaks text into lines that leave the last column free.
func wordwrap(text string, width int) string { return ansi.Wordwrap(text, max(20, width-1), "") }

// cursorAfter returns a cursor at the end of text.
func cursorAfter(text string) *tea.Cursor {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return tea.NewCursor(ansi.StringWidth(last), strings.Count(text, "\n"))
}
