package mcpclient

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// renewingSlowly runs f with renewals whose begin takes a second, and counts its runs.
func renewingSlowly(t *testing.T, f func(t *testing.T, r *renewals, begin func(context.Context) error, runs *int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life := newLife(t)
		defer endLife(life)
		runs := 0
		r := &renewals{life: life, dead: func() bool { return false }}
		f(t, r, func(ctx context.Context) error {
			runs++
			return sleep(ctx, life, time.Second)
		}, &runs)
	})
}

func TestRenewalIsOneForAll(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *renewals, begin func(context.Context) error, runs *int) {
		needed := func() bool { return *runs == 0 }
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := r.renew(t.Context(), needed, begin); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		if err := r.settle(t.Context()); err != nil || time.Since(start) != time.Second || r.underWay() {
			t.Errorf("settled with %v after %v, want nil after 1s", err, time.Since(start))
		}
		all.Wait()
		if *runs != 1 {
			t.Errorf("begun %d times, want once", *runs)
		}
	})
}

// A connection that ends while it is begun is begun once more.
func TestRenewalLasts(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *renewals, begin func(context.Context) error, runs *int) {
		r.dead = func() bool { return *runs < 3 }
		err := r.renew(t.Context(), func() bool { return true }, begin)
		if err != nil || *runs != 3 || !r.recent(time.Minute) {
			t.Errorf("got %v after %d runs, want nil after 3", err, *runs)
		}
	})
}

// Code of the host that a renewal runs does not wait for that renewal.
func TestRenewalDoesNotWaitForItself(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *renewals, _ func(context.Context) error, _ *int) {
		err := r.renew(t.Context(), func() bool { return true }, func(ctx context.Context) error { return r.settle(ctx) })
		if err != nil || !r.within(context.WithValue(t.Context(), renewing{r}, r)) {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestRenewalEndsWithTheClient(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *renewals, begin func(context.Context) error, _ *int) {
		time.AfterFunc(time.Millisecond, func() { r.life.Close(func() {}, func() error { return nil }) })
		if err := r.renew(t.Context(), func() bool { return true }, begin); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want %v", err, ErrClosed)
		}
		_ = r.life.Wait()
		if r.start(begin) {
			t.Error("begun after the end")
		}
	})
}
