package terminal

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Choose implements [screen.Screen].
func (t *Terminal) Choose(ctx context.Context, q *screen.Choice) (byte, error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return t.chooseLocked(ctx, q)
}

func (t *Terminal) chooseLocked(ctx context.Context, q *screen.Choice) (byte, error) {
	t.present(q)
	d := &choiceDialog{paint: t.paint, question: q, completion: newCompletion()}
	if err := t.askLocked(ctx, d); err != nil {
		return 0, err
	}
	t.Note(screen.Faint, "%s %s", q.Question, d.chosen.Word())
	return d.chosen.Key, nil
}

// present prints what a question is about.
func (t *Terminal) present(q *screen.Choice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endAnswerLocked()
	for _, line := range q.Notes() {
		if line.Unbroken {
			t.printLocked([]string{t.paint.Text(line.Style, line.Text)})
		} else {
			t.noteLocked(line.Style, line.Text)
		}
	}
}

// choiceDialog asks for one of a few answers by its key.
type choiceDialog struct {
	completion

	paint    screen.Paint
	question *screen.Choice
	chosen   screen.Answer
}

func (c *choiceDialog) init(int, int) tea.Cmd { return nil }
func (c *choiceDialog) clear() bool           { return false }

func (c *choiceDialog) update(msg tea.Msg) tea.Cmd {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || c.over {
		return nil
	}
	for _, a := range c.question.Answers {
		if strings.EqualFold(k.Text, string(a.Key)) {
			c.chosen = a
			c.finish()
			return nil
		}
	}
	return nil
}

func (c *choiceDialog) view(width int, ready bool) (string, *tea.Cursor) {
	question := c.paint.Text(screen.Warn, hosttext.Line(c.question.Question, maxPrompt))
	if !ready {
		return question + " …", nil
	}
	text := question + "  " + c.paint.Answers(c.question.Answers, "  ", false)
	if ansi.StringWidth(text) >= width {
		text = question + "  " + c.paint.Answers(c.question.Answers, "  ", true)
	}
	text = wordwrap(text, width)
	return text, cursorAfter(text)
}
