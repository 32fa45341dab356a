package agent

import "github.com/mcpchain/mcpchain/internal/ledger"

// holds reports whether a call has to wait for another call to its server: calls that may
// change something are made one after the other, see [Options.ParallelWrites].
func (t *turn) holds(c *ledger.Call, j *job) bool {
	return t.sched.taken(c.Server) && t.ordered(j)
}

// heldBack reports whether an ordered call has to wait. It reads only constant fields of the
// call.
func (t *turn) heldBack(c *ledger.Call) bool {
	if !t.sched.taken(c.Server) {
		return false
	}
	t.tools.mu.Lock()
	j := t.tools.jobs[c.ID]
	t.tools.mu.Unlock()
	return j != nil && j.call != nil && t.ordered(j)
}

// ordered reports whether a call may change something, and so waits for its turn.
func (t *turn) ordered(j *job) bool {
	return !t.agent.opts.ParallelWrites && !j.call.Tool().ReadOnly()
}
