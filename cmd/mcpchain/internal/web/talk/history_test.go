package talk

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestHistoryBesideATurn reads a conversation while it continues. What the user says meanwhile is in the part after.
func TestHistoryBesideATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var afterLoad func()
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			err := c.Do()
			if next := afterLoad; next != nil && c.Method == "load" {
				afterLoad = nil
				next()
			}
			return err
		})
		s, id := begun(t, Options{Model: agenttest.Play(agenttest.Say("one"), agenttest.Say("two")), Store: store})
		synctest.Wait()
		key := run.Key{Tenant: "Ada", ID: id}
		afterLoad = func() {
			check.NoError(t, s.Say(t.Context(), "Ada", id, "second"))
			synctest.Wait()
		}
		part, err := s.history(t.Context(), key, agent.Position{})
		check.Must(t, err)
		rest, err := s.history(t.Context(), key, part[len(part)-1].at)
		check.Must(t, err)
		isSaid := func(e entry) bool { return e.kind == "said" }
		if !slices.ContainsFunc(part, isSaid) || !slices.ContainsFunc(rest, isSaid) {
			t.Errorf("got %v and then %v, want a question in each", part, rest)
		}
	})
}
