package backoff

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestDelayGrowsToTheMaximum(t *testing.T) {
	p := Policy{First: 100 * time.Millisecond, Max: time.Second}
	for n, limit := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		limit *= time.Millisecond
		low, high := limit, time.Duration(0)
		for range 1000 {
			got := p.Delay(n)
			low, high = min(low, got), max(high, got)
		}
		check.That(t, low >= limit/2 && high <= limit && high-low >= limit*9/20,
			"Delay(%d): got %v to %v, want %v to %v", n, low, high, limit/2, limit)
	}
}

func TestDelayAtExtremes(t *testing.T) {
	for _, n := range []int{-1, 0, 63, 1 << 30} {
		got := (Policy{}).Delay(n)
		check.That(t, got > 0 && got <= 30*time.Second, "Delay(%d): got %v, want more than 0 and at most 30s", n, got)
	}
	got := (Policy{First: time.Hour, Max: time.Second}).Delay(0)
	check.That(t, got <= time.Second, "First over Max: got %v, want at most 1s", got)
}

func TestSpread(t *testing.T) {
	for asked, most := range map[time.Duration]time.Duration{0: 0, time.Second: 1500 * time.Millisecond, time.Hour: time.Hour + 5*time.Second} {
		seen := map[time.Duration]bool{}
		for range 200 {
			got := Spread(asked)
			seen[got] = true
			check.Require(t, got >= asked && got <= most, "Spread(%v): got %v, want at most %v", asked, got, most)
		}
		check.That(t, asked <= 0 || len(seen) >= 2, "Spread(%v): got the same 200 times", asked)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		check.Must(t, Sleep(t.Context(), time.Minute))
		check.Equal(t, "1m", time.Since(start), time.Minute)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		check.Is(t, Sleep(ctx, time.Minute), context.DeadlineExceeded)
		check.Equal(t, "context ended after 1s", time.Since(start), time.Second)
		check.Is(t, Sleep(ctx, 0), context.DeadlineExceeded, "context ended before")
	})
}

func TestRetryAfter(t *testing.T) {
	now, day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 24*time.Hour
	tests := []struct {
		name, key, value string
		want             time.Duration
		ok               bool
	}{
		{"seconds", "Retry-After", "7", 7 * time.Second, true},
		{"fraction", "Retry-After", "0.5", 500 * time.Millisecond, true},
		{"milliseconds", "Retry-After-Ms", "250", 250 * time.Millisecond, true},
		{"date", "Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute, true},
		{"date that has passed", "Retry-After", "Fri, 02 Jan 2026 03:03:05 GMT", 0, true},
		{"huge", "Retry-After", "1e300", day, true},
		{"infinite", "Retry-After", "Inf", day, true},
		{"date that is far", "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", day, true},
		{"negative", "Retry-After", "-1", 0, false},
		{"not a number", "Retry-After", "NaN", 0, false},
		{"text", "Retry-After", "soon", 0, false},
		{"absent", "X", "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.key, tt.value)
			got, ok := RetryAfter(h, now)
			check.That(t, got == tt.want && ok == tt.ok, "got %v, %t, want %v, %t", got, ok, tt.want, tt.ok)
		})
	}
}

// A date is by the server's clock, and that may differ from ours.
func TestRetryAfterByTheServersClock(t *testing.T) {
	const when = "Fri, 02 Jan 2026 03:05:05 GMT"
	for date, want := range map[string]time.Duration{
		"Fri, 02 Jan 2026 03:05:00 GMT": 5 * time.Second,
		"Fri, 02 Jan 2026 03:06:00 GMT": 0,
		"today":                         time.Hour, // by our clock
	} {
		h := http.Header{"Retry-After": {when}, "Date": {date}}
		now, _ := http.ParseTime(when)
		got, ok := RetryAfter(h, now.Add(-time.Hour))
		check.That(t, got == want && ok, "sent %s: got %v, %t, want %v", date, got, ok, want)
	}
}

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
