package sqlstore

import (
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Statements and heads agree on which leases are valid.
func TestLeadOfALease(t *testing.T) {
	now := time.Now()
	head := run.Head{TTL: time.Minute, HeldUntil: now.Add(time.Minute + maxLead)}
	check.That(t, head.HeldAt(now), "a lease is void within the tolerance")
	head.HeldUntil = head.HeldUntil.Add(1)
	check.That(t, !head.HeldAt(now), "a lease is valid beyond the tolerance")
}
