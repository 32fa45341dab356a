// Package idle bounds a call by its silence and as a whole.
package idle

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Limits are the bounds of a call; 0 or less is none.
type Limits struct {
	Idle  time.Duration // without a sign of life
	Whole time.Duration
}

// None reports whether there is no bound.
func (l Limits) None() bool { return l.Idle <= 0 && l.Whole <= 0 }

// Expired is why a context ended at one of its limits.
type Expired struct {
	Idle  bool // or else the whole took too long
	Limit time.Duration
}

func (e *Expired) Error() string {
	if e.Idle {
		return "neither an answer nor progress within " + e.Limit.String()
	}
	return "no answer within " + e.Limit.String()
}

func (e *Expired) Unwrap() error { return context.DeadlineExceeded }

// Context ends at the limits of a call. All methods may be called concurrently.
type Context struct {
	context.Context
	cancel context.CancelCauseFunc
	limits Limits
	begun  time.Time

	mu    sync.Mutex
	timer *time.Timer
	heard time.Time // since when there is silence, the time of holds left out
	holds int       // while there are any, silence does not count
	held  time.Time // when the first of them began, or something was heard since
	over  bool
}

// Within returns a context that ends at the limits, with an [*Expired] as its cause.
// Stop has to be called.
func Within(ctx context.Context, limits Limits) *Context {
	now := time.Now()
	c := &Context{limits: limits, begun: now, heard: now}
	c.Context, c.cancel = context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if left, bounded := c.leftLocked(); bounded {
		c.timer = time.AfterFunc(left, c.look)
	}
	return c
}

type contextKey struct{}

// From is the innermost context of a call that ctx is of, nil where there is none.
func From(ctx context.Context) *Context {
	c, _ := ctx.Value(contextKey{}).(*Context)
	return c
}

// Value is that of the context around, and of [From].
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Deadline is the end of the whole, if the context around does not end before that.
func (c *Context) Deadline() (time.Time, bool) {
	around, bounded := c.Context.Deadline()
	if c.limits.Whole <= 0 {
		return around, bounded
	}
	if own := c.begun.Add(c.limits.Whole); !bounded || own.Before(around) {
		return own, true
	}
	return around, true
}

// Err is that of a deadline once a limit was reached.
func (c *Context) Err() error {
	err := c.Context.Err()
	if err == nil {
		return nil
	}
	if _, expired := errors.AsType[*Expired](context.Cause(c.Context)); expired {
		return context.DeadlineExceeded
	}
	return err
}

// Bounded reports whether silence ends the context.
func (c *Context) Bounded() bool { return c != nil && c.limits.Idle > 0 }

// Heard has silence count anew. c may be nil.
func (c *Context) Heard() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now() // which the timer sees when it fires
	c.held = c.heard
}

// Hold has silence not count until release is called, which may be called more than
// once. Then it goes on from where it was. c may be nil.
func (c *Context) Hold() (release func()) {
	if !c.Bounded() {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 {
		c.held = time.Now()
	}
	return sync.OnceFunc(c.release)
}

func (c *Context) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds == 0 {
		c.heard = c.heard.Add(time.Since(c.held))
		c.armLocked()
	}
}

// Stop ends the context. c may be nil.
func (c *Context) Stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.over = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.cancel(nil)
}

// look ends the context at its limits.
func (c *Context) look() {
	if limit := c.reached(); limit != nil {
		c.cancel(limit)
	}
}

// reached is the limit that ends the context; nil where it goes on up to the next.
func (c *Context) reached() *Expired {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return nil
	case c.limits.Idle > 0 && c.holds == 0 && time.Since(c.heard) >= c.limits.Idle:
		c.over = true
		return &Expired{Idle: true, Limit: c.limits.Idle}
	case c.limits.Whole > 0 && time.Since(c.begun) >= c.limits.Whole:
		c.over = true
		return &Expired{Limit: c.limits.Whole}
	}
	c.armLocked()
	return nil
}

// armLocked has the timer fire at the next limit.
func (c *Context) armLocked() {
	if left, bounded := c.leftLocked(); bounded && !c.over {
		c.timer.Reset(left)
	}
}

// leftLocked is the time up to the next limit, if there is one.
func (c *Context) leftLocked() (left time.Duration, bounded bool) {
	if c.limits.Whole > 0 {
		left, bounded = c.limits.Whole-time.Since(c.begun), true
	}
	if c.limits.Idle > 0 && c.holds == 0 {
		if silent := c.limits.Idle - time.Since(c.heard); !bounded || silent < left {
			left, bounded = silent, true
		}
	}
	return left, bounded
}
