package terminal

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// The renderer counts columns, and counts none for a tab. So each column of a tab is printed as a
// placeholder, and output turns placeholders back into tabs: code that is copied from the terminal
// keeps its tabs. Placeholders are private-use characters, which are escaped in peers' texts.
const (
	tabBegin = '\ue000' // the first column of a tab
	tabMore  = '\ue001' // another column of a tab
	tabStop  = 8
)

// fitLine replaces tabs by placeholders, and appends a space to a line that fills its last row: the
// renderer would count a row too many, and clear the last column.
func fitLine(line string, width int) string {
	if strings.Contains(line, "\t") {
		var b strings.Builder
		column := 0
		for i, piece := range strings.Split(line, "\t") {
			if i > 0 {
				n := tabStop - column%width%tabStop
				if column%width+n >= width { // a tab does not wrap to the next row
					b.WriteString(strings.Repeat(" ", n))
				} else {
					b.WriteString(string(tabBegin) + strings.Repeat(string(tabMore), n-1))
				}
				column += n
			}
			b.WriteString(piece)
			column += ansi.StringWidth(piece)
		}
		line = b.String()
	}
	if w := ansi.StringWidth(line); w > 0 && w%width == 0 {
		line += " "
	}
	return line
}

// output is the terminal as the renderer writes to it.
type output struct {
	*os.File
	frames atomic.Int64  // frames that were written
	drawn  chan struct{} // closed after the first frame
	once   sync.Once     // closes drawn
	busy   chan struct{} // buffered; has a value after a frame with busyPrompt
}

// firstFrame is a sequence that only the first frame has: it turns on bracketed paste.
const firstFrame = "\x1b[?2004h"

// Write writes a frame.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.WriteString(string(p))
	o.frames.Add(1)
	if bytes.Contains(p, []byte(firstFrame)) {
		o.once.Do(func() { close(o.drawn) })
	}
	if bytes.Contains(p, []byte(busyPrompt)) {
		select {
		case o.busy <- struct{}{}:
		default:
		}
	}
	return n, err
}

// WriteString writes lines above the frame.
func (o *output) WriteString(s string) (int, error) {
	if _, err := o.File.WriteString(tabs.Replace(s)); err != nil {
		return 0, err
	}
	return len(s), nil
}

// tabs turns placeholders back into tabs.
var tabs = strings.NewReplacer(string(tabBegin), "\t", string(tabMore), "")

// frameHeight keeps the frame from shrinking at once. The renderer loses its place if the cursor is
// in a row that the next frame does not have. So a shorter frame is first drawn with blank rows
// below it, which are removed after it was written.
type frameHeight struct {
	written func() int64 // counts the frames that were written

	mu         sync.Mutex // guards the fields below
	rows       int        // how many rows the frame has, with blank ones
	needed     int        // how many rows the frame needs
	shrinking  bool       // a shrinkMsg was sent and is not handled
	drawn      bool       // the frame was written since it needs fewer rows
	shrunkAt   int64      // frames that were written when it became shorter
	rowsBefore int        // rows before the blank ones were removed
	removedAt  int64      // frames that were written by then
}

// shrinkMsg asks whether the blank rows can be removed.
type shrinkMsg struct{}

// grow returns how many rows to draw for a frame that needs this number.
func (h *frameHeight) grow(needed int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = max(h.rows, needed)
	return h.rows
}

// beginShrink returns a command that begins to remove blank rows, nil if there are none.
func (h *frameHeight) beginShrink(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	if needed < h.needed {
		h.shrunkAt, h.drawn = h.written(), false
	}
	h.needed = needed
	if needed >= h.rows || h.shrinking {
		return nil
	}
	h.shrinking = true
	return shrinkLater()
}

// onShrink handles a shrinkMsg. The blank rows are removed at the second one after the frame was written: the frame
// that was being written at the time of the change does not count.
func (h *frameHeight) onShrink(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := h.written()
	if !h.drawn {
		h.drawn = written != h.shrunkAt
		return shrinkLater()
	}
	h.rowsBefore, h.removedAt = h.rows, written
	h.shrinking, h.rows, h.needed = false, needed, needed
	return nil
}

// occupied returns how many rows the frame may have on the terminal, and how many of them are blank
// ones to be removed.
func (h *frameHeight) occupied() (rows, blank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rows = max(h.rows, h.needed)
	if h.written() == h.removedAt {
		rows = max(rows, h.rowsBefore)
	}
	return rows, rows - h.needed
}

// shrinkLater returns a command that sends a shrinkMsg.
func shrinkLater() tea.Cmd {
	return tea.Tick(shrinkInterval, func(time.Time) tea.Msg { return shrinkMsg{} })
}

const (
	maxBlank      = 2                      // blank rows that may stay below what is printed
	maxShrinkWait = 500 * time.Millisecond // longest wait for the others to be removed

	shrinkInterval = 20 * time.Millisecond // between shrink messages, in which a frame is usually written
	roomPoll       = 5 * time.Millisecond  // between looks at the number of blank rows
)

// room returns how many rows can be printed at once. They are printed above the frame and have to
// fit on the screen together with it, or the renderer loses lines. So room first waits until most
// blank rows have been removed.
func (t *Terminal) room() int {
	t.send(syncMsg{})
	rows := 0
	for start := time.Now(); time.Since(start) < maxShrinkWait; {
		blank := 0
		if rows, blank = t.frame.occupied(); blank <= maxBlank {
			break
		}
		select {
		case <-time.After(roomPoll):
		case <-t.done:
			return 1
		}
	}
	all := int(t.height.Load())
	return max(1, min(all/2, all-rows))
}
