package renewal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
)

var errClosed = errors.New("closed")

func always() bool { return true }

// renewingSlowly runs f with renewals whose begin takes a second, and counts its runs.
func renewingSlowly(t *testing.T, f func(t *testing.T, r *Group, begin func(context.Context) error, runs *int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		life := lifecycle.New(t.Context(), lifecycle.Options{Closed: errClosed, Ended: context.Cause, Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
		defer func() {
			life.Close(func() {}, func() error { return nil })
			<-life.Done()
		}()
		runs := 0
		f(t, New(life, func() bool { return false }), func(ctx context.Context) error {
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
			all.Go(func() { check.NoError(t, r.Renew(t.Context(), needed, begin)) })
		}
		synctest.Wait()
		start := time.Now()
		check.NoError(t, r.Wait(t.Context()))
		check.Equal(t, "settled after", time.Since(start), time.Second)
		check.Equal(t, "under way", r.UnderWay(), false)
		all.Wait()
		check.Equal(t, "begun times", *runs, 1)
	})
}

// A caller that may ask a person tries again by itself if a renewal fails that asks none.
func TestRenewalAsksNoPerson(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, _ func(context.Context) error, runs *int) {
		begin := func(ctx context.Context) error {
			*runs++
			time.Sleep(time.Second)
			if backoff.IsUnattended(ctx) {
				return errors.New("nobody to sign in")
			}
			return nil
		}
		needed := func() bool { return *runs < 2 }
		go func() { check.Fails(t, r.Renew(backoff.Unattended(t.Context()), needed, begin)) }()
		synctest.Wait()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { check.NoError(t, r.Renew(t.Context(), needed, begin)) })
		}
		all.Wait()
		check.Equal(t, "begun times", *runs, 2)
	})
}

// Code of the host that a renewal runs does not wait for that renewal.
func TestRenewalDoesNotWaitForItself(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, _ func(context.Context) error, _ *int) {
		check.NoError(t, r.Renew(t.Context(), always, func(ctx context.Context) error { return r.Wait(ctx) }))
		check.Equal(t, "within", r.Within(context.WithValue(t.Context(), renewing{r}, r)), true)
	})
}

func TestRenewalEndsWithTheClient(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, begin func(context.Context) error, _ *int) {
		time.AfterFunc(time.Millisecond, func() { r.life.Close(func() {}, func() error { return nil }) })
		check.Is(t, r.Renew(t.Context(), always, begin), errClosed)
		_ = r.life.Wait()
		check.Equal(t, "begun after the end", r.Start(begin), false)
	})
}

type valueKey struct{}

// The values of who asked for a renewal hold in it, but it stays a renewal.
func TestRenewalHasValues(t *testing.T) {
	renewingSlowly(t, func(t *testing.T, r *Group, _ func(context.Context) error, _ *int) {
		check.NoError(t, r.Renew(context.WithValue(t.Context(), valueKey{}, "user"), always, func(ctx context.Context) error {
			for within, ctx := range map[bool]context.Context{true: ctx, false: Outlive(ctx)} {
				check.Equal(t, "value", ctx.Value(valueKey{}), any("user"))
				check.Equal(t, "within", r.Within(ctx), within)
			}
			return nil
		}))
	})
}
