package bound_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestLimits(t *testing.T) {
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		limits bound.Limits
		parent time.Duration // 0 for no deadline
		during func(c *bound.Context)
		want   time.Duration
		cause  error // nil for the parent's cause
	}{
		"silence":           {limits: bound.Limits{Idle: 3 * time.Second}, want: 3 * time.Second, cause: &bound.Expired{Idle: true, Limit: 3 * time.Second}},
		"silence of a call": {limits: bound.Limits{Idle: 3 * time.Second, Whole: time.Hour}, want: 3 * time.Second, cause: &bound.Expired{Idle: true, Limit: 3 * time.Second}},
		"whole":             {limits: bound.Limits{Whole: 5 * time.Second}, want: 5 * time.Second, cause: &bound.Expired{Limit: 5 * time.Second}},
		"never":             {limits: bound.Limits{Idle: math.MaxInt64, Whole: math.MaxInt64}, parent: day, want: day},
		"none":              {limits: bound.Limits{Idle: -1}, parent: day, want: day},
		"parent":            {limits: bound.Limits{Idle: time.Hour, Whole: time.Hour}, parent: time.Second, want: time.Second},
		"heard": {limits: bound.Limits{Idle: 3 * time.Second}, want: 11 * time.Second, cause: &bound.Expired{Idle: true, Limit: 3 * time.Second}, during: func(c *bound.Context) {
			for range 4 {
				time.Sleep(2 * time.Second)
				c.Heard()
			}
		}},
		"heard forever": {limits: bound.Limits{Idle: 3 * time.Second, Whole: 9 * time.Second}, want: 9 * time.Second, cause: &bound.Expired{Limit: 9 * time.Second}, during: func(c *bound.Context) {
			for range 4 {
				time.Sleep(2 * time.Second)
				c.Heard()
			}
		}},
		"held": {limits: bound.Limits{Idle: 3 * time.Second}, want: day + 3*time.Second, cause: &bound.Expired{Idle: true, Limit: 3 * time.Second}, during: func(c *bound.Context) {
			first, second := c.Hold(), c.Hold()
			time.Sleep(day / 2)
			first()
			first()
			time.Sleep(day / 2)
			second()
		}},
		"held in between": {limits: bound.Limits{Idle: 3 * time.Second}, want: day + 3*time.Second, cause: &bound.Expired{Idle: true, Limit: 3 * time.Second}, during: func(c *bound.Context) {
			time.Sleep(2 * time.Second)
			release := c.Hold()
			time.Sleep(day)
			release()
		}},
		"held forever": {limits: bound.Limits{Idle: 3 * time.Second, Whole: time.Hour}, want: time.Hour, cause: &bound.Expired{Limit: time.Hour}, during: func(c *bound.Context) { c.Hold() }},
		"held at the end": {limits: bound.Limits{Idle: 3 * time.Second}, want: 8 * time.Second, cause: &bound.Expired{Idle: true, Limit: 3 * time.Second}, during: func(c *bound.Context) {
			release := c.Hold()
			time.Sleep(2 * time.Second)
			c.Heard()
			time.Sleep(3 * time.Second)
			release()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent := t.Context()
				if tt.parent > 0 {
					var cancel context.CancelFunc
					parent, cancel = context.WithTimeout(parent, tt.parent)
					defer cancel()
				}
				start, c := time.Now(), bound.Within(parent, tt.limits)
				defer c.Stop()
				if tt.during != nil {
					tt.during(c)
				}
				inner, cancel := context.WithCancel(c)
				defer cancel()
				<-inner.Done()
				check.Equal(t, "ended after", time.Since(start), tt.want)
				check.Is(t, c.Err(), context.DeadlineExceeded)
				got := context.Cause(inner)
				check.That(t, tt.cause == nil || got.Error() == tt.cause.Error(), "got the cause %v, want %v", got, tt.cause)
			})
		})
	}
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bound.Within(t.Context(), bound.Limits{Idle: time.Second, Whole: time.Minute})
		release := c.Hold()
		c.Stop()
		release()
		c.Heard()
		time.Sleep(time.Hour)
		check.That(t, c.Err() == context.Canceled && context.Cause(c) == context.Canceled, "got %v and %v, want a context that was canceled and reached no limit", c.Err(), context.Cause(c))
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for whole, want := range map[time.Duration]time.Duration{0: time.Second, time.Millisecond: time.Millisecond, time.Minute: time.Second} {
			c := bound.Within(near, bound.Limits{Idle: time.Nanosecond, Whole: whole})
			end, _ := c.Deadline()
			check.Equal(t, whole, time.Until(end), want)
			c.Stop()
		}
		c := bound.Within(t.Context(), bound.Limits{Idle: time.Second})
		defer c.Stop()
		end, bounded := c.Deadline()
		check.That(t, !bounded, "got the deadline %v, want none", end)
	})
}

func TestFrom(t *testing.T) {
	type key struct{}
	outer := bound.Within(context.WithValue(t.Context(), key{}, 1), bound.Limits{})
	defer outer.Stop()
	inner := bound.Within(outer, bound.Limits{Idle: time.Hour})
	defer inner.Stop()
	ctx, cancel := context.WithCancel(inner)
	defer cancel()
	check.That(t, bound.From(ctx) == inner && ctx.Value(key{}) == 1, "got %p and %v, want the inner context and the value", bound.From(ctx), ctx.Value(key{}))
	none := bound.From(t.Context())
	none.Heard()
	none.Hold()()
	check.That(t, !none.Bounded() && !outer.Bounded() && inner.Bounded(),
		"got %v, %v and %v, want the inner context to be bounded alone", none.Bounded(), outer.Bounded(), inner.Bounded())
}

func TestRun(t *testing.T) {
	failed := errors.New("failed")
	check.Equal(t, "the error of f", bound.Run("f", func() error { return failed }), failed)
	err := bound.Run("f", func() error { panic("oops") })
	p, ok := errors.AsType[*bound.PanicError](err)
	check.Require(t, ok && err.Error() == "f panicked: oops" && p.Value == "oops", "got %v, want the panic", err)
	check.Contains(t, "stack", string(p.Stack), "TestRun")
}
