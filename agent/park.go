package agent

import (
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// unpark makes a call again if its questions are answered. No call is parked any more, but a store may have
// one: its server was told that the person cancelled.
func unpark(t *turn, c *ledger.Call) (func() error, error) {
	hasOpen := false
	t.rec.read(func(s *ledger.State) {
		hasOpen = slices.ContainsFunc(s.Questions, func(q *run.Question) bool { return q.Call == c.ID })
	})
	if hasOpen {
		return nil, nil
	}
	return t.sendAgain(c)
}
