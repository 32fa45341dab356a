package agent

import "github.com/mcpchain/mcpchain/internal/ledger"

// Inside is what a state has in it.
func Inside(s *State) *ledger.State { return s.inner() }
