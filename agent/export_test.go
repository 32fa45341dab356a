package agent

import (
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Inside is what a state has in it.
func Inside(s *State) *ledger.State { return s.inner() }

// KindOf is the type of an event in JSON.
func KindOf(e Event) string { return e.kind() }

// ProfileOf is the profile by which an agent's tools are written for its model.
func ProfileOf(a *Agent) profile.Profile { return a.recipe.profile }
