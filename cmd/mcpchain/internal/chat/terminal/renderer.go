package terminal

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

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
	n, err := o.File.Write(p)
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
