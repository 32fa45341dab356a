package mcpclient

import (
	"context"
	"fmt"
	"time"
)

// connectGrace is how long Connect still waits, when its context has ended, for
// the end of what it began.
const connectGrace = 500 * time.Millisecond

// Close ends the connection and returns when nothing of it runs any more. Calls
// under way end with [ErrClosed] at once, and so does the wait for a restart.
// Handlers have their contexts ended; those that go on nevertheless are waited
// for up to [Timeouts.Close]. What was told the server before, such as that
// nobody waits for a call any more, still goes out, for half of that at most, and
// for 500 ms to one that does not read its pipe.
//
// A handler, callback or hook of this client may call Close. As it cannot be waited
// for by itself, Close then begins the end and returns nil at once; a Close
// elsewhere, which may be in a handler of another client, tells when it is
// complete. Where such a handler has another goroutine call Close, and waits for
// that, it is one that goes on. What runs on the goroutine of a call, as its progress
// callback and Options.Middleware around it do, is waited for by nobody and waits.
//
// Close may be called more than once. Its error is that of the transport, such
// as a process that could not be stopped.
func (c *Client) Close() error {
	c.mu.Lock()
	first := !c.leaving
	c.leaving = true
	c.partLocked()
	if first {
		c.left = make(chan struct{})
	}
	left := c.left
	c.mu.Unlock()
	within := c.handlers.hosting() || c.own.hosting()
	if first {
		c.link.Load().endCalls()
		if within {
			go c.leave()
		} else {
			c.leave()
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

// leave says goodbye, which hooks see, and then ends everything.
func (c *Client) leave() {
	defer close(c.left)
	if c.link.Load().hooked() {
		c.own.host(goroutine(), c.part)
	} else {
		c.part()
	}
}

func (c *Client) part() {
	start, within := time.Now(), c.opts.Timeouts.Close
	c.finishTelling(within / 2) // which leaves time for the session
	c.farewell(within - time.Since(start))
	c.closeErr = c.shut()
}

// farewell ends the sessions on the server where there are any.
func (c *Client) farewell(within time.Duration) {
	if l := c.link.Load(); l != nil && l.exchange != nil && l.exchange.inSession() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life()), within)
		defer cancel()
		l.exchange.endSession(ctx)
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
	if kept := c.cache.made.Load(); kept != nil {
		kept.clear()
	}
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
		c.farewell(min(c.opts.Timeouts.Close, connectGrace))
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
// Options.Timeouts.Close.
func (c *Client) await(all *crew, who string) {
	if !all.wait(c.opts.Timeouts.Close) {
		c.log.Warn("close: " + who + " goes on after its context ended")
	}
}

// start runs a goroutine that Close waits for, unless the client is closed.
func (c *Client) start(in *crew, fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if in == &c.handlers || c.sending != nil || c.link.Load().hooked() {
		in.GoHost(fn)
	} else {
		in.Go(fn)
	}
	return true
}
