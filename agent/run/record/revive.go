package record

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// StopParked is the stop reason of a run that failed because its processes died repeatedly
// without progress. [Revive] starts it again.
const StopParked = "parked"

// Revive lets a parked run continue where it stopped, once the cause is removed:
// [agent.Recover] picks it up. Calls that were in progress are in doubt, and the model is told.
// It is an error if the run is not parked.
func Revive(ctx context.Context, store Store, key run.Key) error {
	return change(ctx, store, key, "revive", func(s *ledger.State) (ledger.Change, error) {
		if s.Status != run.StatusFailed || s.Stop != StopParked {
			return nil, fmt.Errorf("it is %s, and not parked", s.Status)
		}
		return &ledger.Said{Limits: s.Limits, Schema: s.Schema}, nil
	})
}
