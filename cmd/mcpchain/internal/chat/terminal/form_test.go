package terminal

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// Ctrl-C clears the field that has the keyboard, also if another one has the same text.
func TestClearOneOfTwoEqualFields(t *testing.T) {
	d := newFormDialog(&screen.Form{
		Fields: []*forms.Field{{Name: "from", Kind: forms.KindString}, {Name: "to", Kind: forms.KindString}},
		Values: map[string]any{"from": "Oslo", "to": "Oslo"},
	}, nil)
	d.init(80, 24)
	d.update(tea.KeyPressMsg{Code: tea.KeyEnter})
	check.Equal(t, "cleared", d.clear(), true)
	check.Equal(t, "from", d.inputs[0].text, "Oslo")
	check.Equal(t, "to", d.inputs[1].text, "")
}
