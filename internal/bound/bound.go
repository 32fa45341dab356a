// Package bound keeps calls of other code within bounds: of silence, of time, and without panics.
package bound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"
)

// Limits are the bounds of a call; 0 or less means no bound.
type Limits struct {
	Idle  time.Duration // silence: no answer, no progress
	Whole time.Duration // total time
}

// None reports whether there is no bound.
func (l Limits) None() bool { return l.Idle <= 0 && l.Whole <= 0 }

// Expired is the cause of a context that ended at one of its limits.
type Expired struct {
	Idle  bool // the silence was too long; else the whole call
	Limit time.Duration
}

func (e *Expired) Error() string {
	if e.Idle {
		return "neither an answer nor progress within " + e.Limit.String()
	}
	return "no answer within " + e.Limit.String()
}

func (e *Expired) Unwrap() error { return context.DeadlineExceeded }

// Ended returns the error of a context that has ended: it names the cause, and matches the error of the context.
func Ended(ctx context.Context) error {
	err := ctx.Err()
	cause := context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%v: %w", cause, err)
}

// Context ends at the limits of a call. All methods may be called concurrently.
type Context struct {
	context.Context
	cancel context.CancelCauseFunc
	limits Limits
	begun  time.Time

	mu          sync.Mutex
	timer       *time.Timer
	silentSince time.Time // beginning of the silence, without the time of holds
	holds       int       // active holds; silence does not count meanwhile
	heldSince   time.Time // beginning of the first active hold, or the last Heard since
	ended       bool
}

// Within returns a context that ends at the limits, with an [*Expired] as its cause. The caller must call Stop.
func Within(ctx context.Context, limits Limits) *Context {
	now := time.Now()
	c := &Context{limits: limits, begun: now, silentSince: now}
	c.Context, c.cancel = context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if left, bounded := c.remainingLocked(); bounded {
		c.timer = time.AfterFunc(left, c.onTimer)
	}
	return c
}

type contextKey struct{}

// From returns the innermost Context among the parents of ctx, nil if there is none.
func From(ctx context.Context) *Context {
	c, _ := ctx.Value(contextKey{}).(*Context)
	return c
}

// Value is the value of the parent, except for the key of [From].
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Deadline is the end of the total time, or the parent's deadline if that is earlier.
func (c *Context) Deadline() (time.Time, bool) {
	parent, bounded := c.Context.Deadline()
	if c.limits.Whole <= 0 {
		return parent, bounded
	}
	if own := c.begun.Add(c.limits.Whole); !bounded || own.Before(parent) {
		return own, true
	}
	return parent, true
}

// Err is [context.DeadlineExceeded] after a limit was reached.
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

// Heard restarts the idle timer. c may be nil.
func (c *Context) Heard() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silentSince = time.Now() // the timer reads it when it fires
	c.heldSince = c.silentSince
}

// Hold stops counting silence until release is called; then counting continues.
// release may be called more than once. c may be nil.
func (c *Context) Hold() (release func()) {
	if !c.Bounded() {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 {
		c.heldSince = time.Now()
	}
	return sync.OnceFunc(c.release)
}

func (c *Context) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds == 0 {
		c.silentSince = c.silentSince.Add(time.Since(c.heldSince))
		c.armLocked()
	}
}

// Stop ends the context. c may be nil.
func (c *Context) Stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.ended = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.cancel(nil)
}

func (c *Context) onTimer() {
	if limit := c.expired(); limit != nil {
		c.cancel(limit)
	}
}

// expired returns the limit that ends the context, nil if none is reached.
func (c *Context) expired() *Expired {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return nil
	case c.limits.Idle > 0 && c.holds == 0 && time.Since(c.silentSince) >= c.limits.Idle:
		c.ended = true
		return &Expired{Idle: true, Limit: c.limits.Idle}
	case c.limits.Whole > 0 && time.Since(c.begun) >= c.limits.Whole:
		c.ended = true
		return &Expired{Limit: c.limits.Whole}
	}
	c.armLocked()
	return nil
}

func (c *Context) armLocked() {
	if left, bounded := c.remainingLocked(); bounded && !c.ended {
		c.timer.Reset(left)
	}
}

func (c *Context) remainingLocked() (left time.Duration, bounded bool) {
	if c.limits.Whole > 0 {
		left, bounded = c.limits.Whole-time.Since(c.begun), true
	}
	if c.limits.Idle > 0 && c.holds == 0 {
		if silent := c.limits.Idle - time.Since(c.silentSince); !bounded || silent < left {
			left, bounded = silent, true
		}
	}
	return left, bounded
}

// PanicError reports that code of the host panicked.
type PanicError struct {
	What  string // what panicked
	Value any
	Stack []byte
}

// Error omits the stack, as the text may be shown to a model or a server.
func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.What, e.Value) }

// Run calls f. A panic becomes a [*PanicError].
func Run(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{What: what, Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// ReadBody reads as much of a body as arrives within limit, at most max bytes, and closes it. It reports no error: its
// callers can use a part. Not every body ends.
func ReadBody(body io.ReadCloser, max int64, limit time.Duration) []byte {
	defer body.Close()
	late := time.AfterFunc(limit, func() { _ = body.Close() })
	defer late.Stop()
	data, _ := io.ReadAll(io.LimitReader(body, max))
	return data
}
