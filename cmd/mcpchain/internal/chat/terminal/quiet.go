package terminal

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// quietTime is the time without keys after which a dialog takes keys.
const quietTime = 300 * time.Millisecond

// quiet waits for a moment without keys.
type quiet struct {
	past  bool // the moment is over
	count int  // of the moments that have begun
}

// quietMsg is the end of the moment with this number.
type quietMsg int

// begin starts to wait again.
func (q *quiet) begin() tea.Cmd {
	q.past = false
	q.count++
	n := q.count
	return tea.Tick(quietTime, func(time.Time) tea.Msg { return quietMsg(n) })
}

func (q *quiet) over(m quietMsg) {
	if int(m) == q.count {
		q.past = true
	}
}
