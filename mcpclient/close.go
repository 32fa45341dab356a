package mcpclient

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// closeTimeout bounds how long [Client.Close] sends queued messages and ends the session, and once
// more how long it waits for hooks of the transport.
const closeTimeout = 5 * time.Second

// connectGrace is how long Connect waits, after its context has ended, for what it started to end.
const connectGrace = 500 * time.Millisecond

// unreadTime is how long Close waits for a server to read from a pipe. A server that reads
// takes a message immediately.
const unreadTime = 500 * time.Millisecond

// Close ends the connection. Current calls fail immediately with [ErrClosed]. Queued messages, such
// as notices of cancellation, are still sent, within 2.5 s, or within 500 ms to
// a server that does not read its pipe. Then the session ends, and with it the contexts of
// handlers.
//
// Close returns when the client's own goroutines have ended. It does not wait for the host's
// code, that is handlers, callbacks and Options.Middleware, so it may be called from anywhere;
// [Client.Done] waits for them. If a hook of the transport, such as an [http.RoundTripper],
// blocks a goroutine of the client, Close waits for it up to 5 s, even if that hook
// calls Close.
//
// Close may be called more than once. Its error comes from the transport, for example that a
// process could not be stopped.
func (c *Client) Close() error {
	c.life.Close(c.connector.goodbye, c.connector.disconnect)
	if err := c.life.Wait(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// Done returns a channel that is closed last: when the connection has ended, by Close or by
// itself, and all goroutines of the client have ended, including those of handlers and
// callbacks. A handler must not wait for it, but for its context. [Client.AfterEnd] and
// [Client.Err] report the end of the connection immediately.
func (c *Client) Done() <-chan struct{} { return c.life.Done() }

// Err returns why the connection has ended: nil before that, [ErrClosed] after Close, and
// otherwise an error that wraps ErrClosed and the cause.
func (c *Client) Err() error { return c.life.Reason() }

// AfterEnd runs fn on a goroutine of its own, with the result of [Client.Err], as soon as the
// connection has ended, by Close or by itself. It does not wait for handlers; [Client.Done]
// waits for fn, too. It returns false, and fn is not run, if the connection has ended already.
func (c *Client) AfterEnd(fn func(err error)) bool {
	return c.life.StartHost(func() {
		<-c.life.Context().Done()
		err := c.Err()
		defer recoverPanic(c.log, "AfterEnd", errPanicked, &err)
		fn(err)
	})
}

// goodbye fails the calls, sends what is queued, and ends the sessions on the server.
func (c *connector) goodbye() {
	start := time.Now()
	if l := c.link.Load(); l != nil { // nil before the first dial
		l.endCalls()
		c.async.Finish(l.flushTimeout(closeTimeout / 2)) // leaves time to end the session
	}
	c.endSession(closeTimeout - time.Since(start))
}

// flushTimeout returns how long queued messages may take: d, or at most unreadTime for a pipe,
// which the server may no longer read.
func (l *link) flushTimeout(d time.Duration) time.Duration {
	if conn, ok := wire.As[wire.Acknowledger](l.conn); ok && !conn.Acknowledged() {
		return min(d, unreadTime)
	}
	return d
}

// endSession ends the sessions on the server, or gives up after limit: hooks may not return.
func (c *connector) endSession(limit time.Duration) {
	l := c.link.Load()
	if l == nil || l.exchange == nil || !l.exchange.HasSessions() {
		return
	}
	finished := make(chan struct{})
	if !c.life.StartHost(func() {
		defer close(finished)
		ctx, cancel := context.WithTimeout(c.life.Context(), limit)
		defer cancel()
		l.exchange.EndSessions(ctx)
	}) {
		return
	}
	await.Closed(finished, limit)
}

func (c *connector) disconnect() (err error) {
	if l := c.link.Load(); l != nil {
		l.calls.Close(c.life.Cause())
		err = l.close()
	}
	c.cache.clear()
	return err
}

// discard ends what a failing Connect has started. It returns soon after ctx has ended: a
// process that has not ended by then is killed.
func (c *connector) discard(ctx context.Context) {
	c.life.Close(func() { c.endSession(connectGrace) }, c.disconnect)
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
