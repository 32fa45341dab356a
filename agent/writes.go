package agent

import "github.com/mcpchain/mcpchain/agent/run"

// holds reports whether a call has to wait for another one of its server: calls that may
// change something are sent one after the other, see [Options.ParallelWrites].
func (w *work) holds(c *run.Call, j *job) bool {
	return w.sched.taken(c.Server) && w.ordered(j)
}

// heldBack reports whether a call that is known to be ordered has to wait. Of the call it reads what never changes.
func (w *work) heldBack(c *run.Call) bool {
	if !w.sched.taken(c.Server) {
		return false
	}
	w.tools.mu.Lock()
	j := w.tools.jobs[c.ID]
	w.tools.mu.Unlock()
	return j != nil && j.call != nil && w.ordered(j)
}

// ordered reports whether a call may change something, and waits for its turn.
func (w *work) ordered(j *job) bool {
	return !w.agent.opts.ParallelWrites && !j.call.Tool().ReadOnly()
}
