package sqlstore

import (
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// PageBy sets the number of heads that List reads at a time.
func PageBy(s Store, n int) { s.(*database).pageSize = n }

// SetClock replaces the query for the clock of leases.
func SetClock(store Store, query string) {
	s := store.(*database)
	d := *s.d
	d.clock = query
	s.d = &d
}

// Waiting returns how many changes wait for a commit, and whether one is being made.
func Waiting(store Store) (changes int, committing bool) {
	s := store.(*database)
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return len(s.group.queue), s.group.isActive
}

// Statements and heads agree on which leases are valid.
func TestLeadOfALease(t *testing.T) {
	now := time.Now()
	head := run.Head{TTL: time.Minute, HeldUntil: now.Add(time.Minute + maxLead)}
	check.That(t, head.HeldAt(now), "a lease is void within the tolerance")
	head.HeldUntil = head.HeldUntil.Add(1)
	check.That(t, !head.HeldAt(now), "a lease is valid beyond the tolerance")
}
