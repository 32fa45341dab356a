package terminal

import (
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// frameHeight keeps the frame from shrinking at once. The renderer loses its place if the cursor is in a row that the
// next frame does not have. So a shorter frame is first drawn with blank rows below it, which are removed after it was
// written.
type frameHeight struct {
	written func() int64 // counts the frames that were written

	mu       sync.Mutex // guards the fields below
	rows     int        // of the frame, with blank ones
	needed   int        // rows at the last change
	settling bool       // a settleMsg is under way
	drawn    bool       // the frame was written since it needs fewer rows
	shrunkAt int64      // frames that were written when it became shorter
	before   int        // rows before the blank ones were removed
	cutAt    int64      // frames that were written by then
}

// settleMsg asks whether the blank rows can be removed.
type settleMsg struct{}

// grow returns the rows to draw for a frame that needs so many.
func (h *frameHeight) grow(needed int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = max(h.rows, needed)
	return h.rows
}

// settle has blank rows removed later, if there are any.
func (h *frameHeight) settle(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	if needed < h.needed {
		h.shrunkAt, h.drawn = h.written(), false
	}
	h.needed = needed
	if needed >= h.rows || h.settling {
		return nil
	}
	h.settling = true
	return settleLater()
}

// settled handles a settleMsg. The blank rows are removed at the second one after the frame was written: the frame that
// was being written at the time of the change does not count.
func (h *frameHeight) settled(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := h.written()
	if !h.drawn {
		h.drawn = written != h.shrunkAt
		return settleLater()
	}
	h.before, h.cutAt = h.rows, written
	h.settling, h.rows, h.needed = false, needed, needed
	return nil
}

// occupied returns how many rows the frame may have on the terminal, and how many of them are blank ones to be removed.
func (h *frameHeight) occupied() (rows, blank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rows = max(h.rows, h.needed)
	if h.written() == h.cutAt {
		rows = max(rows, h.before)
	}
	return rows, rows - h.needed
}

func settleLater() tea.Cmd {
	return tea.Tick(20*time.Millisecond, func(time.Time) tea.Msg { return settleMsg{} })
}

const (
	maxBlank  = 2                      // blank rows that may stay below what is printed
	maxSettle = 500 * time.Millisecond // longest wait for the others to be removed
)

// room returns how many rows can be printed at once. They are printed above the frame and have to fit on the screen
// together with it, or the renderer loses lines. So room first waits until most blank rows have been removed.
func (t *Terminal) room() int {
	t.send(syncMsg{})
	rows := 0
	for begin := time.Now(); time.Since(begin) < maxSettle; {
		blank := 0
		if rows, blank = t.frame.occupied(); blank <= maxBlank {
			break
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.done:
			return 1
		}
	}
	all := int(t.height.Load())
	return max(1, min(all/2, all-rows))
}
