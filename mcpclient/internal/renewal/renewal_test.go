package renewal

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
)

var errClosed = errors.New("closed")

// renewingSlowly runs f with renewals whose begin takes a second, and counts its runs.
func renewingSlowly(t *testing.T, f func(t *testing.T, r *Group, begin func(context.Context) error, runs *int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life := lifecycle.New(t.Context(), lifecycle.Options{Closed: errClosed, Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
		defer func() {
			life.Close(func() {}, func() error { return nil })
			<-life.Done()
		}()
		runs := 0
		r := New(life, func() bool { return false })
		f(t, r, func(ctx context.Context) error {
			runs++
			return life.Sleep(ctx, time.Second)
		}, &runs)
	})
}

func TestRenewalIsOneForAll(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, begin func(context.Context) error, runs *int) {
		needed := func() bool { return *runs == 0 }
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := r.Renew(t.Context(), needed, begin); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		if err := r.Settle(t.Context()); err != nil || time.Since(start) != time.Second || r.UnderWay() {
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
	renewingSlowly(t, func(t *testing.T, r *Group, begin func(context.Context) error, runs *int) {
		r.dead = func() bool { return *runs < 3 }
		err := r.Renew(t.Context(), func() bool { return true }, begin)
		if err != nil || *runs != 3 || !r.Recent(time.Minute) {
			t.Errorf("got %v after %d runs, want nil after 3", err, *runs)
		}
	})
}

// Code of the host that a renewal runs does not wait for that renewal.
func TestRenewalDoesNotWaitForItself(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, _ func(context.Context) error, _ *int) {
		err := r.Renew(t.Context(), func() bool { return true }, func(ctx context.Context) error { return r.Settle(ctx) })
		if err != nil || !r.Within(context.WithValue(t.Context(), renewing{r}, r)) {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestRenewalEndsWithTheClient(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, begin func(context.Context) error, _ *int) {
		time.AfterFunc(time.Millisecond, func() { r.life.Close(func() {}, func() error { return nil }) })
		if err := r.Renew(t.Context(), func() bool { return true }, begin); !errors.Is(err, errClosed) {
			t.Errorf("got %v, want %v", err, errClosed)
		}
		_ = r.life.Wait()
		if r.Start(begin) {
			t.Error("begun after the end")
		}
	})
}

// A renewal whose begin ends its goroutine fails, and the next one begins.
func TestRenewalExits(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, begin func(context.Context) error, _ *int) {
		needed := func() bool { return true }
		err := r.Renew(t.Context(), needed, func(context.Context) error { runtime.Goexit(); return nil })
		if !errors.Is(err, ErrExited) || r.UnderWay() {
			t.Errorf("got %v, under way %t, want an end with %v", err, r.UnderWay(), ErrExited)
		}
		if err := r.Renew(t.Context(), needed, begin); err != nil {
			t.Error(err)
		}
	})
}

// The end of a renewal has the reading of a clock that is never set.
func TestClockJumps(t *testing.T) {
	r := New(nil, func() bool { return false })
	running := new(renewal)
	r.current.Store(running)
	if r.finished(running); r.ended == r.ended.Round(0) { // which takes out that reading
		t.Errorf("%v is of the clock on the wall only", r.ended)
	}
}

type valueKey struct{}

// The values of who asked for a renewal hold in it, but it stays a renewal.
func TestWithValuesOf(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, _ func(context.Context) error, _ *int) {
		asker, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "user"))
		cancel()
		err := r.Renew(t.Context(), func() bool { return true }, func(ctx context.Context) error {
			ctx = WithValuesOf(asker, ctx)
			if got := ctx.Value(valueKey{}); got != "user" || !r.Within(ctx) {
				t.Errorf("got %v, within %t, want the user in the renewal", got, r.Within(ctx))
			}
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
	})
}
