package terminal

import (
	"context"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// maxProblem bounds what is said about a text that is refused, in characters.
const maxProblem = 400

// Write implements [screen.Screen].
func (t *Terminal) Write(ctx context.Context, draft *screen.Draft) (string, error) {
	d := newTextDialog(t.paint, draft)
	if err := t.ask(ctx, d); err != nil {
		return "", err
	}
	text := screen.CleanInput(d.area.Value())
	if d.left {
		return text, screen.ErrLeft
	}
	return text, nil
}

// textDialog asks for a text of several lines.
type textDialog struct {
	completion

	paint   screen.Paint
	draft   *screen.Draft
	area    textarea.Model
	problem string // why the text was refused that was sent last
	left    bool   // the person went back with Esc
}

func newTextDialog(paint screen.Paint, draft *screen.Draft) *textDialog {
	area := newArea()
	area.SetPromptFunc(2, func(textarea.PromptInfo) string { return "› " })
	area.SetValue(draft.Text)
	return &textDialog{paint: paint, draft: draft, area: area, completion: newCompletion()}
}

func (d *textDialog) init(width, _ int) tea.Cmd {
	d.area.SetWidth(max(12, width))
	return d.area.Focus()
}

func (d *textDialog) clear() bool {
	hasText := d.area.Value() != ""
	d.area.Reset()
	return hasText
}

func (d *textDialog) update(msg tea.Msg) tea.Cmd {
	if d.over {
		return nil
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		d.area.SetWidth(max(12, msg.Width))
		return nil
	case tea.KeyPressMsg:
		switch name := msg.String(); {
		case name == "enter":
			d.submit()
			return nil
		case name == "esc" && d.draft.Back:
			d.left = true
			d.finish()
			return nil
		}
	}
	var cmd tea.Cmd
	d.area, cmd = d.area.Update(msg)
	return cmd
}

// submit ends the dialog, unless the text is refused.
func (d *textDialog) submit() {
	d.problem = ""
	if d.draft.Check != nil {
		if err := d.draft.Check(screen.CleanInput(d.area.Value())); err != nil {
			d.problem = "✗ " + hosttext.Line(err.Error(), maxProblem)
			return
		}
	}
	d.finish()
}

func (d *textDialog) view(width int, ready bool) (string, *tea.Cursor) {
	prompt := d.paint.Text(screen.Warn, hosttext.Line(d.draft.Prompt, maxPrompt))
	if !ready {
		return prompt + " …", nil
	}
	keys := "Enter sends it, Alt-Enter is another line"
	if d.draft.Back {
		keys += ", Esc goes back"
	}
	prompt = wordwrap(prompt+"  "+d.paint.Text(screen.Faint, keys), width)
	cursor := d.area.Cursor()
	if cursor != nil {
		cursor.Y += 1 + strings.Count(prompt, "\n")
	}
	view := prompt + "\n" + d.area.View()
	if d.problem != "" {
		view += "\n" + d.paint.Text(screen.Warn, wordwrap(d.problem, width))
	}
	return view, cursor
}
