package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

var errTry = errors.New("try failed")

// tries runs a Loop whose first fails tries fail, and returns when each try began.
func tries(ctx context.Context, p Policy, fails int, again func(*Failure) error) (began []time.Duration, err error) {
	start := time.Now()
	err = Loop(ctx, p, func() error {
		began = append(began, time.Since(start))
		if len(began) > fails {
			return nil
		}
		return errTry
	}, again)
	return began, err
}

func TestLoopWaits(t *testing.T) {
	policy := Policy{First: time.Second, Max: 4 * time.Second}
	for name, tt := range map[string]struct {
		again func(*Failure) error
		least time.Duration // share of a wait, in hundredths; the rest is left to chance
		waits []time.Duration
	}{
		"as the policy says": {func(*Failure) error { return nil }, 50, []time.Duration{1, 2, 4, 4}},
		"as it is told":      {func(f *Failure) error { f.Wait = time.Minute; return nil }, 100, []time.Duration{60, 60, 60, 60}},
		"not at all":         {func(f *Failure) error { f.Wait = -1; return nil }, 100, []time.Duration{0, 0, 0, 0}},
		"counting again":     {func(f *Failure) error { f.Count %= 2; return nil }, 50, []time.Duration{1, 2, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, err := tries(t.Context(), policy, len(tt.waits), tt.again)
				check.Require(t, err == nil && len(began) == len(tt.waits)+1, "got tries at %v, %v, want %d", began, err, len(tt.waits)+1)
				for i, wait := range tt.waits {
					wait *= time.Second
					got := began[i+1] - began[i]
					check.That(t, got <= wait && got >= wait*tt.least/100, "wait %d: got %v, want %v, of which %d %% are certain", i, got, wait, tt.least)
				}
			})
		})
	}
}

func TestLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errEnough := errors.New("enough")
		began, err := tries(t.Context(), Policy{}, 10, func(f *Failure) error {
			check.Equal(t, "", f.Err, errTry)
			if f.Count == 2 {
				return errEnough
			}
			return nil
		})
		check.That(t, err == errEnough && len(began) == 3, "got %d tries, %v, want 3, %v", len(began), err, errEnough)
	})
}

func TestLoopInterrupted(t *testing.T) {
	on := func(*Failure) error { return nil }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errClosed := errors.New("closed")
	for name, tt := range map[string]struct {
		policy Policy
		want   error
	}{
		"by its context":      {Policy{}, context.Canceled},
		"by a wait that ends": {Policy{Sleep: func(context.Context, time.Duration) error { return errClosed }}, errClosed},
	} {
		t.Run(name, func(t *testing.T) {
			began, err := tries(ctx, tt.policy, 10, on)
			interrupted, ok := errors.AsType[*Interrupted](err)
			check.That(t, ok && interrupted.Last == errTry && errors.Is(err, tt.want) && errors.Is(err, errTry) && len(began) == 1,
				"got %d tries, %v, want 1, an Interrupted by %v", len(began), err, tt.want)
		})
	}
}
