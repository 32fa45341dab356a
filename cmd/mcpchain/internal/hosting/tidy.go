package hosting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
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
		n, err := Forget(ctx, store, time.Now().Add(-kept))
		if err != nil && ctx.Err() == nil {
			logger.Warn("runs that are over cannot be deleted", "error", err)
		}
		if n > 0 {
			logger.Info("runs were deleted", "runs", n, "over for", kept)
		}
	})
}

// MaxReasons bounds the errors that Forget returns.
const MaxReasons = 10

// Forget deletes the runs that ended before a time, and returns their number. It continues after a
// run that cannot be deleted; the error has the first MaxReasons reasons, and how many more there
// are.
func Forget(ctx context.Context, store record.Store, before time.Time) (n int, err error) {
	var reasons []error
	failed := 0
	for _, status := range []run.Status{run.StatusFinished, run.StatusFailed, run.StatusCancelled} {
		for head, err := range store.List(ctx, record.Query{AllTenants: true, Status: status, ChangedBefore: before}) {
			if err == nil {
				err = store.Delete(ctx, head.Key)
			}
			if err == nil {
				n++
				continue
			}
			if failed++; len(reasons) < MaxReasons {
				reasons = append(reasons, err)
			}
		}
	}
	if more := failed - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Errorf("and %d more", more))
	}
	return n, errors.Join(reasons...)
}
