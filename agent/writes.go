package agent

import "github.com/mcpchain/mcpchain/internal/ledger"

// holds reports whether a call has to wait for another one of its server: calls that may
// change something are sent one after the other, see [Options.ParallelWrites].
func (t *turn) holds(c *ledger.Call, j *job) bool {
	return t.sched.taken(c.Server) && t.ordered(j)
}

// heldBack reports whether a call that is known to be ordered has to wait. Of the call it reads what never changes.
func (t *turn) heldBack(c *ledger.Call) bool {
	if !t.sched.taken(c.Server) {
		return false
	}
	t.tools.mu.Lock()
	j := t.tools.jobs[c.ID]
	t.tools.mu.Unlock()
	return j != nil && j.call != nil && t.ordered(j)
}

// ordered reports whether a call may change something, and waits for its turn.
func (t *turn) ordered(j *job) bool {
	return !t.agent.opts.ParallelWrites && !j.call.Tool().ReadOnly()
}
