package terminal

import (
	"context"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Secret implements [screen.Screen].
func (t *Terminal) Secret(ctx context.Context, prompt string) (string, error) {
	unlock, err := t.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	d := newSecretDialog(t.paint, prompt)
	if err := t.ask(ctx, d, d.done); err != nil {
		return "", err
	}
	return screen.CleanInput(d.input.Value()), nil
}

// maxSecret bounds a secret in characters.
const maxSecret = 16 << 10

// secretDialog is a line that is not shown.
type secretDialog struct {
	paint  screen.Paint
	prompt string
	input  textinput.Model
	over   bool
	done   chan struct{}
}

func newSecretDialog(paint screen.Paint, prompt string) *secretDialog {
	input := textinput.New()
	input.EchoMode, input.Prompt, input.CharLimit = textinput.EchoPassword, "› ", maxSecret
	input.SetVirtualCursor(false)
	return &secretDialog{paint: paint, prompt: prompt, input: input, done: make(chan struct{})}
}

func (s *secretDialog) init(width, _ int) tea.Cmd {
	s.input.SetWidth(max(12, width-4))
	return s.input.Focus()
}

func (s *secretDialog) answered() bool { return s.over }

func (s *secretDialog) clear() bool {
	full := s.input.Value() != ""
	s.input.Reset()
	return full
}

func (s *secretDialog) update(msg tea.Msg) tea.Cmd {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		s.input.SetWidth(max(12, size.Width-4))
		return nil
	}
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "enter" && !s.over {
		s.over = true
		close(s.done)
		return nil
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
	at := s.input.Cursor()
	if at != nil {
		at.Y++
	}
	return prompt + "  " + s.paint.Text(screen.Faint, "it is not shown, and not kept") + "\n" + s.input.View(), at
}
