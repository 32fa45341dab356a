package backoff

import (
	"context"
	"errors"
	"slices"
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
	policy := Policy{First: time.Second, Max: 4 * time.Second, Jitter: -1}
	for name, tt := range map[string]struct {
		again func(*Failure) error
		want  []time.Duration
	}{
		"as the policy says": {func(*Failure) error { return nil }, []time.Duration{0, 1, 3, 7, 11}},
		"as it is told":      {func(f *Failure) error { f.Wait = time.Minute; return nil }, []time.Duration{0, 60, 120, 180, 240}},
		"not at all":         {func(f *Failure) error { f.Wait = -1; return nil }, []time.Duration{0, 0, 0, 0, 0}},
		"counting again":     {func(f *Failure) error { f.Count %= 2; return nil }, []time.Duration{0, 1, 3, 4, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := tries(t.Context(), policy, len(tt.want)-1, tt.again)
				for i := range tt.want {
					tt.want[i] *= time.Second
				}
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("got %v, %v, want %v", got, err, tt.want)
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
		if err != errEnough || len(began) != 3 {
			t.Errorf("got %d tries, %v, want 3, %v", len(began), err, errEnough)
		}
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
			if !ok || interrupted.Last != errTry || !errors.Is(err, tt.want) || !errors.Is(err, errTry) || len(began) != 1 {
				t.Errorf("got %d tries, %v, want 1, an Interrupted by %v", len(began), err, tt.want)
			}
		})
	}
}
