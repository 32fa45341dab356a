package terminal

import (
	"context"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// maxSecret bounds a secret in characters.
const maxSecret = 16 << 10

// Secret implements [screen.Screen].
func (t *Terminal) Secret(ctx context.Context, prompt string) (string, error) {
	d := newSecretDialog(t.paint, prompt)
	if err := t.ask(ctx, d); err != nil {
		return "", err
	}
	return screen.CleanInput(d.input.Value()), nil
}

// secretDialog asks for one line without showing it.
type secretDialog struct {
	completion

	paint  screen.Paint
	prompt string
	input  textinput.Model
}

func newSecretDialog(paint screen.Paint, prompt string) *secretDialog {
	input := textinput.New()
	input.EchoMode, input.Prompt, input.CharLimit = textinput.EchoPassword, "› ", maxSecret
	input.SetVirtualCursor(false)
	return &secretDialog{paint: paint, prompt: prompt, input: input, completion: newCompletion()}
}

func (s *secretDialog) init(width, _ int) tea.Cmd {
	s.resize(width)
	return s.input.Focus()
}

func (s *secretDialog) resize(width int) { s.input.SetWidth(max(12, width-4)) }

func (s *secretDialog) clear() bool {
	hasText := s.input.Value() != ""
	s.input.Reset()
	return hasText
}

func (s *secretDialog) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.resize(msg.Width)
		return nil
	case tea.KeyPressMsg:
		if msg.String() == "enter" && !s.over {
			s.finish()
			return nil
		}
	}
	var cmd tea.Cmd
	s.input, cmd = s.input.Update(msg)
	return cmd
}

func (s *secretDialog) view(_ int, ready bool) (string, *tea.Cursor) {
	prompt := s.paint.Text(screen.Warn, hosttext.Line(s.prompt, maxPrompt))
	if !ready {
		return prompt + " …", nil
	}
	cursor := s.input.Cursor()
	if cursor != nil {
		cursor.Y++
	}
	return prompt + "  " + s.paint.Text(screen.Faint, "it is not shown, and not kept") + "\n" + s.input.View(), cursor
}
