package agent

import (
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// maxCached bounds the runs whose states a process keeps between steps.
const maxCached = 16

// stateCache keeps the states of the runs that [Agent.Advance] stepped last, because an engine steps a
// run many times. Each state is as in the store.
type stateCache struct {
	mu   sync.Mutex
	runs []cachedState // the latest is last
}

// cachedState is a state, with the counts of its history.
type cachedState struct {
	state *ledger.State
	tally tally
}

func (c cachedState) isOf(key run.Key) bool {
	return c.state.ID == key.ID && c.state.Tenant == key.Tenant
}

// remove removes and returns the state that a run has according to its lease, nil if it is not cached.
func (s *stateCache) remove(lease record.Lease) (*ledger.State, tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.runs, func(c cachedState) bool { return c.isOf(lease.Key) })
	if i < 0 {
		return nil, tally{}
	}
	c := s.runs[i]
	s.runs = slices.Delete(s.runs, i, i+1)
	if c.state.Seq != lease.Seq || !c.state.Created.Equal(lease.Created) {
		return nil, tally{} // another process has continued it, or deleted and created it
	}
	return c.state, c.tally
}

// put keeps a state for the next step, unless the run waits or has ended.
func (s *stateCache) put(r *ledger.State, tally tally) {
	if r.Status != run.StatusRunning || len(ledger.Open(r)) > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) == maxCached {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
	s.runs = append(s.runs, cachedState{r, tally})
}

// has reports whether the state of a run is cached.
func (s *stateCache) has(key run.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.runs, func(c cachedState) bool { return c.isOf(key) })
}
