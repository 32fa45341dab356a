package terminal

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// Keys before a dialog takes them go to the editor, except at a secret.
func TestTypedBeforeTheQuestion(t *testing.T) {
	for want, d := range map[string]dialog{"": newSecretDialog(screen.Paint{}, "Key:"), "x": newTextDialog(screen.Paint{}, &screen.Draft{Prompt: "Reason:"})} {
		m := newModel(&Terminal{output: &output{}}, Options{})
		m.Init() // the editor has the keys
		m.update(askMsg{d})
		m.handleInput(tea.KeyPressMsg{Code: 'x', Text: "x"})
		if got := m.editor.text(); got != want {
			t.Errorf("%T: the editor has %q, want %q", d, got, want)
		}
	}
}
