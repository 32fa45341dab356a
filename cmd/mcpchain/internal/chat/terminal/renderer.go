package terminal

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// output is the terminal as the renderer writes to it.
type output struct {
	*os.File
	frames atomic.Int64  // frames that were written, without what was printed above them
	drawn  chan struct{} // closed after the first frame
	once   sync.Once     // closes drawn
	busy   chan struct{} // buffered; has a value after a frame with busyPrompt
}

// firstFrame is a sequence that only the first frame has: it turns on bracketed paste.
const firstFrame = "\x1b[?2004h"

// printedEnd is the end of what is printed above the frame.
const printedEnd = ansi.EraseLineRight + "\r\n"

// Write writes a frame, or lines above it.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if !bytes.HasSuffix(p, []byte(printedEnd)) {
		o.frames.Add(1)
	}
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

// frameHeight keeps the frame from shrinking at once. The renderer loses its place if the cursor is
// in a row that the next frame does not have. So a shorter frame is first drawn with blank rows
// below it, which are removed after it was written.
type frameHeight struct {
	written func() int64 // counts the frames that were written

	mu         sync.Mutex // guards the fields below
	rows       int        // how many rows the frame has, with blank ones
	needed     int        // how many rows the frame needs
	shrinking  bool       // a shrinkMsg was sent and is not handled
	rendered   bool       // the renderer has the frame that needs fewer rows, and has written all earlier ones
	shrunkAt   int64      // frames that were written by then
	waits      int        // shrink messages since then
	rowsBefore int        // rows before the blank ones were removed
	removedAt  int64      // frames that were written by then
}

type (
	renderedMsg struct{} // the renderer has the frames of all earlier messages
	shrinkMsg   struct{} // asks whether the blank rows can be removed
)

// grow returns how many rows to draw for a frame that needs this number.
func (h *frameHeight) grow(needed int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = max(h.rows, needed)
	return h.rows
}

// beginShrink returns a command that begins to remove blank rows, nil if there is nothing to begin.
func (h *frameHeight) beginShrink(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	var cmd tea.Cmd
	if needed < h.needed {
		h.rendered = false
		cmd = func() tea.Msg { return renderedMsg{} }
	}
	h.needed = needed
	if needed >= h.rows || h.shrinking {
		return cmd
	}
	h.shrinking = true
	return tea.Batch(cmd, shrinkLater())
}

// onRendered handles a renderedMsg. The library gives each frame to the renderer before it handles the next message, and
// the renderer takes none while it writes one.
func (h *frameHeight) onRendered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rendered, h.shrunkAt, h.waits = true, h.written(), 0
}

// onShrink handles a shrinkMsg. It removes the blank rows if the shorter frame was written. That may have been before the
// renderedMsg: then no other may follow, and the wait ends after maxWaits.
func (h *frameHeight) onShrink(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := h.written()
	h.waits++
	if !h.rendered || written == h.shrunkAt && h.waits < maxWaits {
		return shrinkLater()
	}
	h.rowsBefore, h.removedAt = h.rows, written
	h.shrinking, h.rows, h.needed = false, needed, needed
	return nil
}

// occupied returns how many rows the frame may have on the terminal, and how many of them are blank ones to be removed.
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
	maxWaits       = 10                    // shrink messages without a frame
	roomPoll       = 5 * time.Millisecond  // between looks at the number of blank rows
)

// room returns how many rows can be printed at once. They are printed above the frame and have to fit on the screen
// together with it, or the renderer loses lines. So room first waits until most blank rows have been removed.
func (p *printer) room() int {
	t := p.terminal
	p.send(syncMsg{})
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
