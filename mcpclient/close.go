package mcpclient

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"time"
)

// connectGrace is how long Connect still waits, when its context has ended, for
// the end of what it began.
const connectGrace = 500 * time.Millisecond

// Close ends the connection and returns when nothing of it runs any more. Calls
// under way end with [ErrClosed] at once, and so does the wait for a restart.
// Handlers have their contexts ended; those that go on nevertheless are waited
// for up to [Options.CloseTimeout]. What was told the server before, such as that
// nobody waits for a call any more, still goes out, for half of that at most, and
// for 500 ms to one that does not read its pipe.
//
// A handler, callback or hook may call Close. As it cannot be waited for by
// itself, Close then begins the end and returns nil at once; a Close elsewhere
// tells when it is complete. Where such a handler has another goroutine call
// Close, and waits for that, it is one that goes on.
//
// Close knows by its call stack that a handler or hook calls it, but not of which
// client. From one of another client it waits, unless this client has a handler or
// callback of its own under way, or hooks in its transport: then it may return nil
// at once too. Who needs the end to be complete there calls Close on another
// goroutine and waits for that.
//
// Close may be called more than once. Its error is that of the transport, such
// as a process that could not be stopped.
func (c *Client) Close() error {
	c.mu.Lock()
	first := !c.leaving
	c.leaving = true
	if first {
		c.left = make(chan struct{})
	}
	left := c.left
	c.mu.Unlock()
	within := c.within()
	if first {
		c.link.Load().calls.Close(ErrClosed)
		if within {
			go onOwn(c.leave)
		} else {
			onOwn(c.leave)
		}
	}
	if within {
		return nil
	}
	<-left
	c.await(&c.handlers, "a handler")
	if c.closeErr != nil {
		return fmt.Errorf("close: %w", c.closeErr)
	}
	return nil
}

// leave says goodbye, and then ends everything.
func (c *Client) leave() {
	defer close(c.left)
	start, within := time.Now(), c.terms().closeTimeout
	c.finishTelling(within / 2) // which leaves time for the session
	c.farewell(within - time.Since(start))
	c.closeErr = c.shut()
}

// farewell ends the session on the server where there is one.
func (c *Client) farewell(within time.Duration) {
	if l := c.link.Load(); l != nil && l.exchange != nil && l.exchange.sessionID() != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life()), within)
		defer cancel()
		l.exchange.endSession(ctx, c.current().header(nil, nil))
	}
}

// shut ends everything, and waits for all but handlers.
func (c *Client) shut() (err error) {
	c.mu.Lock()
	ended := c.closed // by itself
	if c.err == nil || !ended {
		c.err = ErrClosed
	}
	c.endLocked()
	c.mu.Unlock()
	if l := c.link.Load(); l != nil {
		err = l.end()
	}
	c.await(&c.own, "a hook of the transport")
	c.cache.get().clear()
	if !ended {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.goneLocked()
	}
	return err
}

// discard ends what a Connect that fails has begun. It returns soon after ctx
// has ended: a process that has not ended by then is killed.
func (c *Client) discard(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.farewell(min(c.terms().closeTimeout, connectGrace))
		_ = c.shut()
		c.await(&c.handlers, "a handler")
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		if waitFor(ended, connectGrace/2) {
			return
		}
		if l := c.link.Load(); l != nil {
			l.kill()
		}
		waitFor(ended, connectGrace/2)
	}
}

// await waits for goroutines that end when the client does, but not longer than
// Options.CloseTimeout.
func (c *Client) await(all *crew, who string) {
	if !all.wait(c.terms().closeTimeout) {
		c.log.Warn("close: " + who + " goes on after its context ended")
	}
}

// crew is goroutines that are waited for together.
type crew struct {
	mu   sync.Mutex
	size int
	idle chan struct{} // closed when all have ended; nil when nobody waits for that
}

// Go runs fn on a goroutine of the crew.
func (c *crew) Go(fn func()) {
	c.mu.Lock()
	c.size++
	c.mu.Unlock()
	go func() {
		defer c.ended()
		fn()
	}()
}

func (c *crew) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size--; c.size == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// wait reports whether all have ended within d.
func (c *crew) wait(d time.Duration) bool {
	c.mu.Lock()
	if c.size == 0 {
		c.mu.Unlock()
		return true
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	return waitFor(idle, d)
}

// start runs a goroutine that Close waits for, unless the client is closed.
func (c *Client) start(in *crew, fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if in == &c.handlers {
		c.visiting.Add(1)
		in.Go(func() {
			defer c.visiting.Add(-1)
			onHandler(fn)
		})
		return true
	}
	in.Go(func() { onOwn(fn) })
	return true
}

// onOwn and onHandler are what the goroutines of all clients run in, for
// [Client.within] to find.
//
//go:noinline
func onOwn(fn func()) { fn() }

//go:noinline
func onHandler(fn func()) { fn() }

// within reports whether the goroutine that calls it may be one that Close waits
// for. Which client's it is cannot be told, except that it is another's where this
// client has none that could run somebody else's code.
func (c *Client) within() bool {
	if c.visiting.Load() == 0 && !c.link.Load().hooked() {
		return false // nobody else's code runs on a goroutine of this client
	}
	var callers [64]uintptr
	for skip := 0; ; skip += len(callers) {
		n := runtime.Callers(skip, callers[:])
		for _, pc := range callers[:n] {
			switch runtime.FuncForPC(pc - 1).Entry() {
			case entry(onOwn):
				return true
			case entry(onHandler):
				return c.visiting.Load() > 0
			}
		}
		if n < len(callers) {
			return false
		}
	}
}

func entry(fn func(func())) uintptr { return reflect.ValueOf(fn).Pointer() }
