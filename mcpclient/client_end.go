package mcpclient

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/internal/idle"
)

// Done is closed when the connection has ended, by Close or by itself.
func (c *Client) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.gone {
			close(c.done)
		}
	}
	return c.done
}

// life is a context with the values of Connect's, which ends when the client closes
// or has ended. Every goroutine of the client watches it.
func (c *Client) life() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		c.ctx, c.cancel = context.WithCancel(c.ctx)
		if c.closed {
			c.cancel()
		}
	}
	return c.ctx
}

// ending reports whether life has ended.
func (c *Client) ending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// parting is closed when Close has been called, or the client has ended: calls do
// not wait for anything any more, while life goes on for what is still to be told.
func (c *Client) parting() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving || c.closed {
		return alreadyClosed
	}
	if c.parts == nil {
		c.parts = make(chan struct{})
	}
	return c.parts
}

// partLocked tells those who wait for it that the client is leaving, or has ended.
func (c *Client) partLocked() {
	if c.parts != nil {
		close(c.parts)
		c.parts = nil
	}
}

// stays reports whether there is no parting yet.
func (c *Client) stays() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.leaving && !c.closed
}

// sleep waits for d, unless ctx or the client ends before that, which is the error
// then. Nothing is expected of the server meanwhile.
func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	defer idle.From(ctx).Hold()()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.parting():
		return c.ended()
	case <-ctx.Done():
		return ended(ctx)
	}
}

// endLocked ends life.
func (c *Client) endLocked() {
	c.closed = true
	c.partLocked()
	if c.cancel != nil {
		c.cancel()
	}
}

// goneLocked tells those who wait that the connection has ended.
func (c *Client) goneLocked() {
	c.gone = true
	if c.done != nil {
		close(c.done)
	}
}

// Err says why the connection has ended: nil before that, [ErrClosed] after
// Close, and an error that wraps ErrClosed and the cause otherwise.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterEnd runs fn, on a goroutine of its own, when the connection has ended, by
// Close or by itself, with what [Client.Err] says. Close waits for it as for a
// handler. It reports false, and fn is not run, when that has happened already.
func (c *Client) AfterEnd(fn func(err error)) bool {
	return c.start(&c.handlers, func() {
		<-c.Done()
		err := c.Err()
		defer c.caught("AfterEnd", errPanicked, &err)
		fn(err)
	})
}

// ended is why nothing goes on any more, once the client is closing.
func (c *Client) ended() error {
	if err := c.Err(); err != nil {
		return err
	}
	return ErrClosed
}
