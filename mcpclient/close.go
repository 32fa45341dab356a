package mcpclient

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// connectGrace is how long Connect still waits, when its context has ended, for
// the end of what it began.
const connectGrace = 500 * time.Millisecond

// unreadTime is how long Close waits for a server to read from a pipe, which takes a message at once unless the
// server has stopped reading.
const unreadTime = 500 * time.Millisecond

// Close ends the connection. Calls under way fail with [ErrClosed] at once. What is
// queued for the server, such as notices of cancellation, still goes out, for half of
// [Timeouts.Close] at most, and for 500 ms to a server that does not read its
// pipe. Then the session ends, and the contexts of handlers.
//
// Close returns when the goroutines of the client have returned. It does not wait for the host's code, that is for
// handlers, callbacks and Options.Middleware, so that it may be called from anywhere: [Client.Done] is closed when
// they have returned too. If a hook of the transport, such as an [http.RoundTripper], keeps a goroutine of the
// client, Close waits for it up to Timeouts.Close, even if that hook is what calls Close.
//
// Close may be called more than once. Its error is the transport's, for example that
// a process could not be stopped.
func (c *Client) Close() error {
	if err := c.life.CloseAndWait(c.connector.goodbye, c.connector.disconnect); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// Done is closed last: the connection has ended, by Close or by itself, and no goroutine of the client runs any more,
// also none that runs a handler or a callback. A handler must not wait for Done: its context ends. [Client.AfterEnd]
// and [Client.Err] report the end at once.
func (c *Client) Done() <-chan struct{} { return c.life.Done() }

// Err says why the connection has ended: nil before that, [ErrClosed] after
// Close, and an error that wraps ErrClosed and the cause otherwise.
func (c *Client) Err() error { return c.life.Reason() }

// AfterEnd runs fn, on a goroutine of its own, as soon as the connection has ended, by
// Close or by itself, with what [Client.Err] says. It does not wait for handlers, as
// [Client.Done] does, which waits for fn too. It reports false, and fn is not run, if
// the connection has ended already.
func (c *Client) AfterEnd(fn func(err error)) bool {
	return c.life.StartHost(func() {
		<-c.life.Context().Done()
		err := c.Err()
		defer caught(c.log, "AfterEnd", errPanicked, &err)
		fn(err)
	})
}

// goodbye fails the calls, sends what is queued, and ends the sessions on the server.
func (c *connector) goodbye() {
	start, within := time.Now(), c.opts.Timeouts.Close
	if l := c.link.Load(); l != nil { // none before the first dial
		l.endCalls()
		c.async.Finish(l.sendingTime(within / 2)) // which leaves time for the session
	}
	c.endSession(within - time.Since(start))
}

// sendingTime is within, or less on a pipe from which the server may not read any more.
func (l *link) sendingTime(within time.Duration) time.Duration {
	if conn, ok := wire.As[wire.Acknowledger](l.conn); ok && !conn.Acknowledged() {
		return min(within, unreadTime)
	}
	return within
}

// endSession ends the sessions on the server, if there are any. It runs hooks of the
// transport, which may not return.
func (c *connector) endSession(within time.Duration) {
	l := c.link.Load()
	if l == nil || l.exchange == nil || !l.exchange.HasSessions() {
		return
	}
	told := make(chan struct{})
	if !c.life.StartHost(func() {
		defer close(told)
		ctx, cancel := context.WithTimeout(c.life.Context(), within)
		defer cancel()
		l.exchange.EndSessions(ctx)
	}) {
		return
	}
	await.Closed(told, within)
}

// disconnect closes the connection, and forgets what was cached.
func (c *connector) disconnect() (err error) {
	if l := c.link.Load(); l != nil {
		l.calls.Close(c.life.Cause())
		err = l.end()
	}
	c.cache.clear()
	return err
}

// discard ends what a Connect that fails has begun. It returns soon after ctx
// has ended: a process that has not ended by then is killed.
func (c *connector) discard(ctx context.Context) {
	c.life.Close(func() { c.endSession(min(c.opts.Timeouts.Close, connectGrace)) }, c.disconnect)
	select {
	case <-c.life.Stopped():
	case <-ctx.Done():
		if await.Closed(c.life.Stopped(), connectGrace/2) {
			return
		}
		if l := c.link.Load(); l != nil {
			l.kill()
		}
		await.Closed(c.life.Stopped(), connectGrace/2)
	}
}
