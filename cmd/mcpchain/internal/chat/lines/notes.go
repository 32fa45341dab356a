package lines

import (
	"fmt"
	"sync"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// maxNotes bounds the notes that are kept during a dialog.
const maxNotes = 200

// notes keeps the notes of a dialog until its end. Their senders may be reading from a server, and
// must not wait for the person.
type notes struct {
	mu      sync.Mutex // guards the fields below; taken before Console.mu
	dialogs int        // that are open or wait for the screen
	kept    []note
	dropped int
}

// note is a note that waits for the end of a dialog.
type note struct {
	style screen.Style
	text  string
}

// begin counts a dialog.
func (n *notes) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialogs++
}

// end counts the end of a dialog, and returns the notes that were kept.
func (n *notes) end() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialogs--
	kept := n.kept
	if n.dropped > 0 {
		kept = append(kept, note{screen.Faint, fmt.Sprintf("%d more notes are not shown", n.dropped)})
	}
	n.kept, n.dropped = nil, 0
	return kept
}

// Note implements [screen.Screen]. If the person may be typing a question, the prompt is shown
// again after the note. During a dialog Note returns immediately, and the note is shown at its end.
func (c *Console) Note(style screen.Style, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.notes.mu.Lock()
	defer c.notes.mu.Unlock()
	if c.notes.dialogs > 0 {
		if len(c.notes.kept) < maxNotes {
			c.notes.kept = append(c.notes.kept, note{style, text})
		} else {
			c.notes.dropped++
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hadPrompt := c.hasPrompt
	c.noteLocked(style, "%s", text)
	if hadPrompt {
		c.promptLocked()
	}
}

// maxProgress bounds a line of progress, in columns: only one row can be erased.
const maxProgress = 76

// Progress implements [screen.Screen]. It does nothing during a dialog. Where a row cannot be
// erased, each line stays.
func (c *Console) Progress(format string, args ...any) {
	limit := maxProgress
	if width := c.opts.Width(); width > 1 {
		limit = min(limit, width-1)
	}
	text := ansi.Truncate(hosttext.Line(fmt.Sprintf(format, args...), limit), limit, "…")
	c.notes.mu.Lock()
	defer c.notes.mu.Unlock()
	if c.notes.dialogs > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLineLocked()
	if !c.opts.Person || c.opts.Dumb {
		fmt.Fprintln(c.errOut, text)
		return
	}
	fmt.Fprint(c.errOut, c.paint.Text(screen.Faint, text))
	c.hasProgress = true
}
