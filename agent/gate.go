package agent

import (
	"maps"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// gate decides which of the due runs of a store this process may begin to work on.
type gate struct {
	share int           // bounds the current runs of each tenant; 0 or negative: no limit
	freed chan struct{} // has a buffer of one: a run has ended while another of its tenant waits

	mu      sync.Mutex // guards the following fields
	busy    map[run.Key]bool
	tenants map[string]int  // current runs
	refused map[string]bool // tenants that had their share when another run of theirs was due
	retry   map[run.Key]wait
	suspect run.Key   // a suspicious run that was started alone
	alone   time.Time // when suspect started; zero: there is none
}

// wait is the time for which to ignore a run that could not be driven.
type wait struct {
	until  time.Time
	length time.Duration
}

// The waits for a run that cannot be driven: each is twice as long as the one before.
const (
	firstWait = time.Second
	maxWait   = time.Minute
)

// A run with which processes have died may be what kills them. It is ignored for a growing
// time, and then starts alone, so that no other run dies with it.
const (
	suspicious   = 2                // takeovers without progress
	maxSuspicion = 5 * time.Minute  // the longest time for which it is ignored
	aloneTime    = 30 * time.Second // how long no other run starts beside it
	aloneWait    = time.Minute      // how long it waits for this process to have no other work
	maxDoublings = 20               // of a second, so that the shift does not overflow
)

func newGate(share int) *gate {
	return &gate{
		share: share, freed: make(chan struct{}, 1),
		busy: map[run.Key]bool{}, tenants: map[string]int{}, refused: map[string]bool{}, retry: map[run.Key]wait{},
	}
}

// start counts a run as started, if it may start: no goroutine drives it, it has not just failed, it
// may start beside the others, and its tenant has less than its share. If ok is true, the caller must
// call end.
func (g *gate) start(head run.Head) (ok bool) {
	key, now := head.Key, time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy[key] || now.Before(g.retry[key].until) {
		return false
	}
	if g.share > 0 && g.tenants[key.Tenant] >= g.share {
		g.refused[key.Tenant] = true
		return false
	}
	if !g.mayStartLocked(head, now) {
		return false
	}
	g.tenants[key.Tenant]++
	g.busy[key] = true
	return true
}

// mayStartLocked reports whether a run may start beside the others. If a suspicious one may, others
// have to wait.
func (g *gate) mayStartLocked(head run.Head, now time.Time) bool {
	if head.Takeovers < suspicious {
		return g.alone.IsZero() || now.Sub(g.alone) > aloneTime
	}
	ignored := min(time.Second<<min(head.Takeovers-suspicious, maxDoublings), maxSuspicion)
	from := head.Updated.Add(ignored)
	if now.Before(from) || len(g.busy) > 0 && now.Before(from.Add(aloneWait)) {
		return false
	}
	g.suspect, g.alone = head.Key, now
	return true
}

// end ends the work on a run, and triggers a search for the next one if its tenant has one waiting. If it failed, the
// run is ignored for a while.
func (g *gate) end(key run.Key, failed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.busy, key)
	if g.suspect == key {
		g.suspect, g.alone = run.Key{}, time.Time{}
	}
	if g.tenants[key.Tenant]--; g.tenants[key.Tenant] == 0 {
		delete(g.tenants, key.Tenant)
	}
	if g.refused[key.Tenant] {
		delete(g.refused, key.Tenant) // the next pass finds the others
		select {
		case g.freed <- struct{}{}:
		default:
		}
	}
	if !failed {
		delete(g.retry, key)
		return
	}
	next := min(max(2*g.retry[key].length, firstWait), maxWait)
	g.retry[key] = wait{time.Now().Add(next), next}
}

// prune forgets waits that ended more than maxWait ago: other processes have finished or deleted those
// runs. The next pass finds which tenants exceed their share.
func (g *gate) prune() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.refused)
	maps.DeleteFunc(g.retry, func(_ run.Key, w wait) bool { return time.Since(w.until) > maxWait })
}
