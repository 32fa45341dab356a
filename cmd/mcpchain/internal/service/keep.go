package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// tidying is how often runs are deleted that are over for long.
const tidying = time.Hour

// tidy deletes runs that are over for longer than they are kept, until the context ends.
func (s *service) tidy(ctx context.Context) {
	for {
		n, err := s.forget(ctx, time.Now().Add(-s.kept))
		if err != nil && ctx.Err() == nil {
			s.logger.Warn("runs that are over cannot be deleted", "error", err)
		}
		if n > 0 {
			s.logger.Info("runs were deleted", "runs", n, "over for", s.kept)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tidying):
		}
	}
}

// maxReasons bounds the errors that forget returns.
const maxReasons = 10

// forget deletes the runs that were over before a time. A run that cannot be deleted keeps no others.
func (s *service) forget(ctx context.Context, before time.Time) (n int, err error) {
	var reasons []error
	failed := 0
	for _, status := range []run.Status{run.StatusFinished, run.StatusFailed, run.StatusCancelled} {
		for head, err := range s.store.List(ctx, record.Query{AllTenants: true, Status: status, Before: before}) {
			if err == nil {
				err = s.store.Delete(ctx, head.Key)
			}
			if err == nil {
				n++
				continue
			}
			if failed++; len(reasons) < maxReasons {
				reasons = append(reasons, err)
			}
		}
	}
	if more := failed - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Errorf("and %d more", more))
	}
	return n, errors.Join(reasons...)
}
