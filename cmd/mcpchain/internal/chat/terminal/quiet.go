package terminal

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// quietTime is how long nothing must be typed before a question takes keys.
const quietTime = 300 * time.Millisecond

// quiet waits for a moment without keys.
type quiet struct {
	past  bool
	count int // of the moments that have begun
}

type quietMsg int

// begin begins a new moment.
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
