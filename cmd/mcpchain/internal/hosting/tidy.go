package hosting

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// tidyInterval returns the time between deletions of old runs: a tenth of the time that they are
// kept, from a second to an hour.
func tidyInterval(kept time.Duration) time.Duration {
	return min(max(kept/10, time.Second), time.Hour)
}

// Tidy deletes runs that ended longer ago than kept, until stop is called. It logs what it could not delete.
func Tidy(store record.Store, kept time.Duration, logger *slog.Logger) (stop func()) {
	return startLoop(tidyInterval(kept), func(ctx context.Context) {
		n, err := record.DeleteEnded(ctx, store, record.Query{AllTenants: true, ChangedBefore: time.Now().Add(-kept)})
		if err != nil && ctx.Err() == nil {
			logger.Warn("runs that are over cannot be deleted", "error", err)
		}
		if n > 0 {
			logger.Info("runs were deleted", "runs", n, "over for", kept)
		}
	})
}
