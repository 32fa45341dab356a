package terminal

import (
	"context"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// dialog is a question that has the keyboard. Only the model calls its methods.
type dialog interface {
	init(width, height int) tea.Cmd

	// update handles a message. It reports whether the dialog has ended.
	update(msg tea.Msg) (cmd tea.Cmd, ended bool)

	// view returns the dialog and the cursor in it. It takes keys when it is ready.
	view(width int, ready bool) (string, *tea.Cursor)

	// clear empties the field that has the keyboard. It reports false if the field is empty.
	clear() bool
}

// maxPrompt bounds the text of a question beside what the person types, in characters. It may have a peer's name.
const maxPrompt = 400

// ask shows a dialog and waits for its end. The dialogs of other goroutines wait until then.
func (t *Terminal) ask(ctx context.Context, d dialog) error {
	unlock, err := t.lockPerson(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return t.askLocked(ctx, d)
}

// askLocked shows a dialog after everything that was printed, and waits for its end.
func (t *Terminal) askLocked(ctx context.Context, d dialog) error {
	ended := make(chan struct{})
	t.send(askMsg{d, ended})
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		t.send(dropMsg{ended})
		return context.Cause(ctx)
	case <-t.done:
		return io.EOF
	}
}

// lockPerson waits until no other goroutine asks the person.
func (t *Terminal) lockPerson(ctx context.Context) (unlock func(), err error) {
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

// minWrap is the minimum width at which text is wrapped, in columns.
const minWrap = 20

// wordwrap breaks text into lines that leave the last column free.
func wordwrap(text string, width int) string { return ansi.Wordwrap(text, max(minWrap, width-1), "") }

// cursorAfter returns a cursor at the end of text.
func cursorAfter(text string) *tea.Cursor {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return tea.NewCursor(ansi.StringWidth(last), strings.Count(text, "\n"))
}

// Choose implements [screen.Screen].
func (t *Terminal) Choose(ctx context.Context, q *screen.Choice) (byte, error) {
	unlock, err := t.lockPerson(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return t.chooseLocked(ctx, q)
}

// chooseLocked is Choose after lockPerson.
func (t *Terminal) chooseLocked(ctx context.Context, q *screen.Choice) (byte, error) {
	t.printChoice(q)
	d := &choiceDialog{paint: t.paint, question: q}
	if err := t.askLocked(ctx, d); err != nil {
		return 0, err
	}
	t.Note(screen.Faint, "%s %s", q.Question, d.chosen.Word())
	return d.chosen.Key, nil
}

// printChoice prints what a question is about.
func (t *Terminal) printChoice(q *screen.Choice) {
	notes := q.Notes()
	t.do(func(p *printer) {
		p.endAnswer()
		for _, line := range notes {
			if line.Unbroken {
				p.print([]string{t.paint.Text(line.Style, line.Text)})
			} else {
				p.note(line.Style, line.Text)
			}
		}
	})
}

// choiceDialog asks for one of a few answers by its key.
type choiceDialog struct {
	paint    screen.Paint
	question *screen.Choice
	chosen   screen.Answer
}

func (c *choiceDialog) init(int, int) tea.Cmd { return nil }
func (c *choiceDialog) clear() bool           { return false }

func (c *choiceDialog) update(msg tea.Msg) (cmd tea.Cmd, ended bool) {
	k, ok := msg.(tea.KeyPressMsg)
	for _, a := range c.question.Answers {
		if ok && strings.EqualFold(k.Text, string(a.Key)) {
			c.chosen = a
			return nil, true
		}
	}
	return nil, false
}

func (c *choiceDialog) view(width int, ready bool) (string, *tea.Cursor) {
	question := c.paint.Text(screen.Warn, hosttext.Line(c.question.Question, maxPrompt))
	if !ready {
		return question + " …", nil
	}
	text := wordwrap(question+"  "+c.paint.Answers(c.question.Answers, "  "), width)
	return text, cursorAfter(text)
}

// quietTime is the time without keys after which a dialog takes keys.
const quietTime = 300 * time.Millisecond

// quiet waits until no key was pressed for quietTime.
type quiet struct {
	passed bool // the time has passed, and the dialog takes keys
	count  int  // number of the last wait
}

// quietMsg is the end of the wait with this number.
type quietMsg int

// begin starts to wait again.
func (q *quiet) begin() tea.Cmd {
	q.passed = false
	q.count++
	n := q.count
	return tea.Tick(quietTime, func(time.Time) tea.Msg { return quietMsg(n) })
}

// end handles the end of a wait. It ignores an earlier wait.
func (q *quiet) end(m quietMsg) {
	if int(m) == q.count {
		q.passed = true
	}
}
