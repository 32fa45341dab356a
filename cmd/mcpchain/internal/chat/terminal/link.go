package terminal

import (
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// Link implements [screen.Linking]. The address stands on a row of its own if the row is too narrow for both.
func (t *Terminal) Link(style screen.Style, text, address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endAnswerLocked()
	text = "  " + hosttext.Line(text, maxPrompt)
	shown := t.paint.Text(screen.Person, hosttext.Line(address, maxAddress))
	if t.paint.Colours() && supportsLinks(os.Getenv("TERM")) {
		shown = hyperlink(shown, address)
	}
	if ansi.StringWidth(text)+1+ansi.StringWidth(shown) < t.columns() {
		t.printLocked([]string{t.paint.Text(style, text) + " " + shown})
		return
	}
	t.noteLocked(style, text)
	t.printLocked([]string{"    " + shown})
}

// hyperlink is a text with a link to an address (OSC 8); nothing in the address ends the sequence.
func hyperlink(shown, address string) string {
	return ansi.SetHyperlink(hosttext.Line(address, maxAddress)) + shown + ansi.ResetHyperlink()
}

// maxAddress bounds a shown address, in characters.
const maxAddress = 2000

// supportsLinks reports whether a terminal of that name takes a link (OSC 8): it is not known that it
// prints one.
func supportsLinks(term string) bool {
	return term != "linux" && !strings.HasPrefix(term, "vt") && !strings.HasPrefix(term, "screen")
}

// Suggest implements [screen.Linking].
func (t *Terminal) Suggest(text string) bool {
	taken := make(chan bool, 1)
	t.send(suggestMsg{text, taken})
	select {
	case ok := <-taken:
		return ok
	case <-t.done:
		return false
	}
}

var _ screen.Linking = (*Terminal)(nil)
