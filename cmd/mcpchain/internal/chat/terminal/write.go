package terminal

import (
	"context"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Write implements [screen.Screen].
func (t *Terminal) Write(ctx context.Context, draft *screen.Draft) (string, error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	w := newTextDialog(t.paint, draft)
	if err := t.ask(ctx, w, w.done); err != nil {
		return "", err
	}
	if w.left {
		err = screen.ErrLeft
	}
	return screen.CleanInput(w.area.Value()), err
}

// maxProblem bounds what is said of a text that does not fit, in characters.
const maxProblem = 400

// textDialog is a text of several lines.
type textDialog struct {
	paint screen.Paint
	draft *screen.Draft
	area  textarea.Model
	problem string // with the text that was sent last
	left  bool   // the person went back with Esc
	over  bool
	done  chan struct{}
}

func newTextDialog(paint screen.Paint, draft *screen.Draft) *textDialog {
	area := newArea()
	area.SetPromptFunc(2, func(textarea.PromptInfo) string { return "› " })
	area.SetValue(draft.Text)
	return &textDialog{paint: paint, draft: draft, area: area, done: make(chan struct{})}
}

func (w *textDialog) init(width, _ int) tea.Cmd {
	w.area.SetWidth(max(12, width))
	return w.area.Focus()
}

func (w *textDialog) answered() bool { return w.over }

func (w *textDialog) clear() bool {
	full := w.area.Value() != ""
	w.area.Reset()
	return full
}

func (w *textDialog) update(msg tea.Msg) tea.Cmd {
	if w.over {
		return nil
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		w.area.SetWidth(max(12, msg.Width))
		return nil
	case tea.KeyPressMsg:
		switch name := msg.String(); {
		case name == "enter":
			w.send()
			return nil
		case name == "esc" && w.draft.Back:
			w.left = true
			w.end()
			return nil
		}
	}
	var cmd tea.Cmd
	w.area, cmd = w.area.Update(msg)
	return cmd
}

// send ends it if the text fits. Otherwise the text stays.
func (w *textDialog) send() {
	w.problem = ""
	if w.draft.Check != nil {
		if err := w.draft.Check(screen.CleanInput(w.area.Value())); err != nil {
			w.problem = "✗ " + hosttext.Line(err.Error(), maxProblem)
			return
		}
	}
	w.end()
}

func (w *textDialog) end() {
	w.over = true
	close(w.done)
}

func (w *textDialog) view(width int, ready bool) (string, *tea.Cursor) {
	prompt := w.paint.Text(screen.Warn, hosttext.Line(w.draft.Prompt, maxPrompt))
	if !ready {
		return prompt + " …", nil
	}
	keys := "Enter sends it, Alt-Enter is another line"
	if w.draft.Back {
		keys += ", Esc goes back"
	}
	width = max(20, width-1)
	prompt = ansi.Wordwrap(prompt+"  "+w.paint.Text(screen.Faint, keys), width, "")
	at := w.area.Cursor()
	if at != nil {
		at.Y += 1 + strings.Count(prompt, "\n")
	}
	view := prompt + "\n" + w.area.View()
	if w.problem != "" {
		view += "\n" + w.paint.Text(screen.Warn, ansi.Wordwrap(w.problem, width, ""))
	}
	return view, at
}
