package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// dialog is a question that has the keyboard.
type dialog interface {
	init(width, height int) tea.Cmd
	update(msg tea.Msg) tea.Cmd
	view(width int, ready bool) (string, *tea.Cursor)
	clear() bool    // empties the field; false if there is nothing to clear
	answered() bool // it is over
}

// ask shows a question after all that is printed, one at a time, and waits for done.
func (t *Terminal) ask(ctx context.Context, d dialog, done <-chan struct{}) error {
	t.send(askMsg{d})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		t.send(dropMsg{d})
		return context.Cause(ctx)
	case <-t.done:
		return io.EOF
	}
}

// lock waits for its turn to ask.
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

// Choose implements [screen.Screen].
func (t *Terminal) Choose(ctx context.Context, q *screen.Choice) (byte, error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return t.choose(ctx, q)
}

func (t *Terminal) choose(ctx context.Context, q *screen.Choice) (byte, error) {
	t.present(q)
	d := &choiceDialog{paint: t.paint, question: q, done: make(chan struct{})}
	if err := t.ask(ctx, d, d.done); err != nil {
		return 0, err
	}
	t.Note(screen.Faint, "%s %s", q.Question, d.label)
	return d.key, nil
}

// present shows what a question is about.
func (t *Terminal) present(q *screen.Choice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endAnswerLocked()
	if q.Heading != "" {
		t.noteLocked(screen.Warn, q.Heading)
	}
	if q.Text != "" {
		t.noteLocked(screen.Tool, q.Text)
	}
	for _, line := range q.Changes {
		t.noteLocked(line.Style, line.Text)
	}
	if q.Link != "" {
		t.noteLocked(screen.Warn, "The page:")
		t.printLocked([]string{"  " + t.paint.Text(screen.Tool, q.Link)})
	}
	for _, warning := range q.Warnings {
		t.noteLocked(screen.Fail, "  Warning: "+warning+".")
	}
}

// choiceDialog is a question with a few answers, each with a key.
type choiceDialog struct {
	paint    screen.Paint
	question *screen.Choice
	key      byte
	label    string
	done     chan struct{}
}

func (c *choiceDialog) init(int, int) tea.Cmd { return nil }
func (c *choiceDialog) clear() bool           { return false }
func (c *choiceDialog) answered() bool        { return c.key != 0 }

func (c *choiceDialog) update(msg tea.Msg) tea.Cmd {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || c.key != 0 {
		return nil
	}
	for _, a := range c.question.Answers {
		if strings.EqualFold(k.Text, string(a.Key)) {
			c.key, c.label = a.Key, a.Word()
			close(c.done)
		}
	}
	return nil
}

func (c *choiceDialog) view(width int, ready bool) (string, *tea.Cursor) {
	question := c.paint.Text(screen.Warn, hosttext.Line(c.question.Question, maxPrompt))
	if !ready {
		return question + " …", nil
	}
	short := question + "  " + c.paint.Answers(c.question.Answers, "  ", true)
	question += "  " + c.paint.Answers(c.question.Answers, "  ", false)
	if ansi.StringWidth(question) >= width {
		question = short
	}
	question = ansi.Wordwrap(question, max(20, width-1), "")
	last := question[strings.LastIndexByte(question, '\n')+1:]
	return question, tea.NewCursor(ansi.StringWidth(last), strings.Count(question, "\n"))
}

// maxPrompt bounds what a question says beside what is typed, in characters. It may have a name of
// a peer.
const maxPrompt = 400

// Await implements [screen.Screen].
func (t *Terminal) Await(ctx context.Context, what string) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	d := &waitDialog{paint: t.paint, what: what, since: time.Now(), done: make(chan struct{})}
	return t.ask(ctx, d, d.done)
}

// waitDialog waits for the person, with a clock.
type waitDialog struct {
	paint screen.Paint
	what  string
	since time.Time
	over  bool
	done  chan struct{}
}

func (w *waitDialog) init(int, int) tea.Cmd { return nil }
func (w *waitDialog) clear() bool           { return false }
func (w *waitDialog) answered() bool        { return w.over }

func (w *waitDialog) update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "enter" && !w.over {
		w.over = true
		close(w.done)
	}
	return nil
}

func (w *waitDialog) view(width int, _ bool) (string, *tea.Cursor) {
	text := fmt.Sprintf("waiting for %s (%s; Enter = done, Ctrl-C = stop)", hosttext.Line(w.what, 100), formatSeconds(time.Since(w.since)))
	text = ansi.Wordwrap(text, max(20, width-1), "")
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return w.paint.Text(screen.Warn, text), tea.NewCursor(ansi.StringWidth(last), strings.Count(text, "\n"))
}
