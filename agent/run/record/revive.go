package record

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// StopParked is the Stop of a run that has failed because its processes ended again and again without progress.
// [Revive] has it run again.
const StopParked = "parked"

// Revive has a parked run continue from where it was, after its cause is gone: [agent.Recover] takes it up. Calls that
// were under way are in doubt, and the model is told. The error is for a run that is not parked.
func Revive(ctx context.Context, store Store, key run.Key) error {
	return change(ctx, store, key, "revive", func(s *ledger.State) (ledger.Change, error) {
		if s.Status != run.StatusFailed || s.Stop != StopParked {
			return nil, fmt.Errorf("it is %s, and not parked", s.Status)
		}
		return &ledger.Said{Limits: s.Limits, Schema: s.Schema}, nil
	})
}
