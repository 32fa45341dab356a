package hosting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// tidyEvery returns the time between deletions of old runs: a tenth of the time that they are
// kept, from a second to an hour.
func tidyEvery(kept time.Duration) time.Duration {
	return min(max(kept/10, time.Second), time.Hour)
}

// Every calls do at intervals, the first time at once, until the context ends.
func Every(ctx context.Context, interval time.Duration, do func()) {
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// Tidy deletes runs that ended longer ago than kept, until stop is called.
func Tidy(store record.Store, kept time.Duration, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		Every(ctx, tidyEvery(kept), func() {
			n, err := Forget(ctx, store, time.Now().Add(-kept))
			if err != nil && ctx.Err() == nil {
				logger.Warn("runs that are over cannot be deleted", "error", err)
			}
			if n > 0 {
				logger.Info("runs were deleted", "runs", n, "over for", kept)
			}
		})
	})
	return func() { cancel(); work.Wait() }
}

// MaxReasons bounds the errors that Forget returns.
const MaxReasons = 10

// Forget deletes the runs that ended before a time. It continues after a run that cannot be
// deleted.
func Forget(ctx context.Context, store record.Store, before time.Time) (n int, err error) {
	var reasons []error
	failed := 0
	for _, status := range []run.Status{run.StatusFinished, run.StatusFailed, run.StatusCancelled} {
		for head, err := range store.List(ctx, record.Query{AllTenants: true, Status: status, Before: before}) {
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
