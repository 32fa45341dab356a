package terminal

import (
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// frameHeight keeps frames from becoming shorter at once. The renderer loses its place if the
// cursor stands in a row that the next frame does not have; so a shorter frame is first
// drawn with blank rows below it, and these go when it was written.
type frameHeight struct {
	written func() int64 // frames

	mu      sync.Mutex // guards the fields below
	rows    int        // of the frame
	needed  int        // at the last change
	settles bool
	drawn   bool  // the frame was written since it needs fewer rows
	since   int64 // frames that were written when it became shorter
	before  int   // rows before the blank ones went
	cut     int64 // frames that were written by then
}

type settleMsg struct{}

// grow is the rows to draw for so many that are needed.
func (h *frameHeight) grow(needed int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = max(h.rows, needed)
	return h.rows
}

// settle has the blank rows go later, if there are any.
func (h *frameHeight) settle(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	if needed < h.needed {
		h.since, h.drawn = h.written(), false
	}
	h.needed = needed
	if needed >= h.rows || h.settles {
		return nil
	}
	h.settles = true
	return settleLater()
}

// settled takes the end of a wait. The blank rows go one wait after the frame was written: a
// frame that was being written at the time of the change counts for nothing.
func (h *frameHeight) settled(needed int) tea.Cmd {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := h.written()
	if !h.drawn {
		h.drawn = written != h.since
		return settleLater()
	}
	h.before, h.cut = h.rows, written
	h.settles, h.rows, h.needed = false, needed, needed
	return nil
}

// occupied is how many rows the terminal may have of the frame, and how many of them will go.
func (h *frameHeight) occupied() (rows, blank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rows = max(h.rows, h.needed)
	if h.written() == h.cut {
		rows = max(rows, h.before)
	}
	return rows, rows - h.needed
}

func settleLater() tea.Cmd {
	return tea.Tick(20*time.Millisecond, func(time.Time) tea.Msg { return settleMsg{} })
}

const (
	maxBlank = 2                      // rows that may stay blank below what is printed
	maxSettle = 500 * time.Millisecond // the longest wait for more of them to go
)

// room is how many rows can be printed at once. What is printed goes above the frame: instead of the blank rows that
// a shorter frame leaves, if these went before. Together with the frame it has to fit on the screen, or the renderer
// loses lines.
func (t *Terminal) room() int {
	t.send(passMsg{}) // when it is taken, all before it is done
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
