package lines

import (
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// maxNotes is the most notes that wait for the end of a dialog.
const maxNotes = 200

// notes keeps what is noted during a dialog. Who notes something may be reading from
// a server, and must not wait for the person.
type notes struct {
	mu      sync.Mutex // guards the fields below; taken before Console.mu
	dialogs int        // open, or waiting for the screen
	kept    []note
	dropped int
}

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

// end takes the dialog off, and returns what was noted.
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

// Note shows a line on the side, and the prompt again if it is in the way. During a
// dialog it returns at once, and the line is shown after it.
func (c *Console) Note(style screen.Style, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.notes.mu.Lock()
	defer c.notes.mu.Unlock()
	if c.notes.dialogs > 0 {
		c.notes.keepLocked(style, text)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting
	c.noteLocked(style, "%s", text)
	if waiting {
		c.promptLocked()
	}
}

func (n *notes) keepLocked(style screen.Style, text string) {
	if len(n.kept) == maxNotes {
		n.dropped++
		return
	}
	n.kept = append(n.kept, note{style, text})
}

// Progress shows a line, which the next one replaces on a terminal that can erase it. It
// does nothing during a dialog.
func (c *Console) Progress(format string, args ...any) {
	most := 76
	if width := c.width(); width > 1 {
		most = min(most, width-1)
	}
	text := hosttext.Line(fmt.Sprintf(format, args...), most)
	c.notes.mu.Lock()
	defer c.notes.mu.Unlock()
	if c.notes.dialogs > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLineLocked()
	if !c.attended || c.dumb {
		fmt.Fprintln(c.err, text)
		return
	}
	fmt.Fprint(c.err, c.paint.Text(screen.Faint, text))
	c.status = true
}
