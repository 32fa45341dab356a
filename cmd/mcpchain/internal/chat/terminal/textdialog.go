package terminal

import (
	"context"
	"strings"

	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// inputPrompt precedes what the person types in a dialog.
const inputPrompt = "› "

// Bounds of a dialog, in characters.
const (
	maxProblem = 400 // of the text that says why an input is refused
	maxSecret  = 16 << 10
)

// Write implements [screen.Screen].
func (t *Terminal) Write(ctx context.Context, draft *screen.Draft) (string, error) {
	d := newTextDialog(t.paint, draft)
	if err := t.ask(ctx, d); err != nil {
		return "", err
	}
	text := screen.CleanInput(d.input.Value())
	if d.wasLeft {
		return text, screen.ErrLeft
	}
	return text, nil
}

// Secret implements [screen.Screen].
func (t *Terminal) Secret(ctx context.Context, prompt string) (string, error) {
	d := newSecretDialog(t.paint, prompt)
	if err := t.ask(ctx, d); err != nil {
		return "", err
	}
	return screen.CleanInput(d.input.Value()), nil
}

// textDialog is the [dialog] for a text of several lines, or for one line that is not shown.
type textDialog struct {
	paint   screen.Paint
	draft   *screen.Draft
	hint    string // beside the prompt
	input   textInput
	forward func(tea.Msg) tea.Cmd // passes a message to input
	frame   int                   // columns that input occupies beyond the width of its text
	secret  bool
	problem string // why the last text that was sent was refused
	wasLeft bool   // the person went back with Esc
}

// textInput is implemented by [textarea.Model] and [textinput.Model].
type textInput interface {
	Value() string
	Reset()
	Focus() tea.Cmd
	SetWidth(int)
	View() string
	Cursor() *tea.Cursor
}

func newTextDialog(paint screen.Paint, draft *screen.Draft) *textDialog {
	area := newArea()
	area.SetPromptFunc(2, func(textarea.PromptInfo) string { return inputPrompt })
	area.SetValue(draft.Text)
	hint := "Enter sends it, Alt-Enter is another line"
	if draft.Back {
		hint += ", Esc goes back"
	}
	return &textDialog{
		paint: paint,
		draft: draft,
		hint:  hint,
		input: &area,
		forward: func(msg tea.Msg) (cmd tea.Cmd) {
			area, cmd = area.Update(msg)
			return cmd
		},
	}
}

func newSecretDialog(paint screen.Paint, prompt string) *textDialog {
	line := textinput.New()
	line.EchoMode = textinput.EchoPassword
	line.Prompt = inputPrompt
	line.CharLimit = maxSecret
	line.SetVirtualCursor(false)
	return &textDialog{
		paint:  paint,
		draft:  &screen.Draft{Prompt: prompt},
		hint:   "it is not shown, and not kept",
		input:  &line,
		frame:  4, // the prompt, the cursor, and the last column
		secret: true,
		forward: func(msg tea.Msg) (cmd tea.Cmd) {
			line, cmd = line.Update(msg)
			return cmd
		},
	}
}

func (d *textDialog) init(width, _ int) tea.Cmd {
	d.resize(width)
	return d.input.Focus()
}

func (d *textDialog) resize(width int) { d.input.SetWidth(max(minColumns, width-d.frame)) }

func (d *textDialog) clear() bool {
	hasText := d.input.Value() != ""
	d.input.Reset()
	return hasText
}

func (d *textDialog) update(msg tea.Msg) (cmd tea.Cmd, ended bool) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		d.resize(msg.Width)
		return nil, false
	case tea.KeyPressMsg:
		switch name := msg.String(); {
		case name == "enter":
			return nil, d.accept()
		case name == "esc" && d.draft.Back:
			d.wasLeft = true
			return nil, true
		}
	}
	return d.forward(msg), false
}

// accept reports whether the text may be sent.
func (d *textDialog) accept() bool {
	d.problem = ""
	if d.draft.Check != nil {
		if err := d.draft.Check(screen.CleanInput(d.input.Value())); err != nil {
			d.problem = "✗ " + hosttext.Line(err.Error(), maxProblem)
		}
	}
	return d.problem == ""
}

func (d *textDialog) view(width int, ready bool) (string, *tea.Cursor) {
	prompt := d.paint.Text(screen.Warn, hosttext.Line(d.draft.Prompt, maxPrompt))
	if !ready {
		return prompt + " …", nil
	}
	prompt = wordwrap(prompt+"  "+d.paint.Text(screen.Faint, d.hint), width)
	cursor := d.input.Cursor()
	if cursor != nil {
		cursor.Y += 1 + strings.Count(prompt, "\n")
	}
	view := prompt + "\n" + d.input.View()
	if d.problem != "" {
		view += "\n" + d.paint.Text(screen.Warn, wordwrap(d.problem, width))
	}
	return view, cursor
}
