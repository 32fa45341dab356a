package terminal

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Link implements [screen.Linking]. The address gets a row of its own if both do not fit on one.
func (t *Terminal) Link(style screen.Style, text, address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endAnswerLocked()
	text = "  " + hosttext.Line(text, maxPrompt)
	shown := t.paint.Text(screen.Person, hosttext.Line(address, maxAddress))
	if ansi.StringWidth(text)+1+ansi.StringWidth(shown) < t.columns() {
		t.printLocked([]string{t.paint.Text(style, text) + " " + shown})
		return
	}
	t.noteLocked(style, text)
	t.printLocked([]string{"    " + shown})
}

// maxAddress bounds a shown address, in characters.
const maxAddress = 2000

// Suggest implements [screen.Linking].
func (t *Terminal) Suggest(text string) bool {
	accepted := make(chan bool, 1)
	t.send(suggestMsg{text, accepted})
	select {
	case ok := <-accepted:
		return ok
	case <-t.done:
		return false
	}
}

var _ screen.Linking = (*Terminal)(nil)
