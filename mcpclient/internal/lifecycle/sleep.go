package lifecycle

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// Sleep waits for d, and fails if ctx ends or the state changes first. The time does not count
// as silence of a call.
func (l *Lifecycle) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return l.Ended(ctx)
	}
	defer bound.From(ctx).Hold()()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.Closing():
		return l.Cause()
	case <-ctx.Done():
		return l.Ended(ctx)
	}
}
