package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// connector connects a client: it dials, does the handshake, and replaces what was lost.
type connector struct {
	*peer
	opts *Options

	negotiator  negotiator
	connections atomic.Int64 // number of connections dialed
	direct      pipeline
	wire        *roundTripper // sends pings

	sessions      *sessions
	subscriptions *subscriptions
	restarts      *restarts // nil without Limits.Restarts
	standalone    *standaloneStream
	levels        *logLevels
	cache         *cache
	elicitations  *openElicitations

	handle    handleFunc
	slots     lifecycle.Slots
	callbacks *lifecycle.Queue // calls OnNotification and OnRestart
	async     *lifecycle.Queue
}

func (c *connector) invalidate(change mcp.Change) { c.cache.invalidate(change) }

func (c *connector) onMessageError(err error) bool { return c.sessions.renewIfLost(err) }

const (
	// maxNotifications bounds the notifications that wait for [Options.OnNotification], the progress
	// notifications that wait for one call, and the changes that wait for one subscription.
	maxNotifications = 1024

	// maxNotificationBytes bounds the memory of the notifications that wait for [Options.OnNotification].
	maxNotificationBytes = wire.DefaultMaxMessage
)

// onNotification passes a notification to the observer, and in the legacy era to open elicitations and
// subscriptions.
func (c *connector) onNotification(n *mcp.Notification) {
	if !c.current().has(listenStreams) {
		if n.Method == "notifications/elicitation/complete" {
			c.elicitations.complete(n.Params)
		} else if change, ok := n.Change(); ok && n.Method != modernTaskNotice {
			c.subscriptions.publish(change)
		}
	}
	if observe := c.opts.OnNotification; observe != nil {
		n := &mcp.Notification{Method: n.Method, Params: bytes.Clone(n.Params)} // without the rest of the line or batch
		c.callbacks.Add(func() { observe(n) }, len(n.Method)+len(n.Params))
	}
}

func (c *connector) newSessions() *sessions {
	renewals := renewal.New(c.life, func() bool { return c.link.Load().endErr() != nil })
	return &sessions{
		peer:        c.peer,
		renewals:    renewals,
		observed:    func() bool { return c.standalone.isWanted() },
		begin:       c.beginSession,
		renegotiate: c.renegotiate,
	}
}

// beginSession begins a session on the current connection and restores what belonged to the previous one.
func (c *connector) beginSession(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	before := c.era.Load()
	start := time.Now()
	server, err := c.negotiator.handshake(ctx, before.era)
	switch {
	case err == nil:
		c.server.Store(server)
		c.standalone.handshakeTime.Store(int64(time.Since(start)))
	case c.protocol.Revision == "" && disprovesLegacy(err) && c.negotiator.renegotiate(ctx) == nil:
		return c.adaptToEra(ctx, before)
	default:
		return err
	}
	if err := c.finishHandshake(ctx); err != nil {
		return err
	}
	return c.restore(ctx)
}

func (c *connector) restore(ctx context.Context) error {
	c.cache.clear()
	if c.current().has(listenStreams) {
		return nil // each subscription reopens its stream
	}
	return c.subscriptions.watchAgain(ctx)
}

func (c *connector) reopen(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, restartTimeout, fmt.Errorf("not ready within %v", restartTimeout))
	defer cancel()
	defer func() {
		err = cmp.Or(err, ctx.Err()) // Close may not have seen the new connection
		if err != nil {
			l := c.link.Load()
			if ctx.Err() != nil {
				err = l.explain(err)
			}
			_ = l.close()
		}
	}()
	if err := c.dialAndNegotiate(ctx); err != nil {
		return err
	}
	c.subscriptions.endOtherEra(c.current().has(listenStreams))
	return c.restore(ctx)
}

// onLinkEnd is called by a link whose connection ended by itself. It returns the error of the calls
// that wait on it.
func (c *connector) onLinkEnd(l *link, err error) error {
	if c.ready.Load() && c.link.Load() == l {
		if lost := c.restarts.begin(l, err); lost != nil {
			return lost
		}
		c.life.Fail(closedError(err), c.disconnect)
	}
	return closedError(err)
}

// onSendError returns why the connection did not accept a message: nil unless it is ending. Answers to earlier messages may
// still arrive then.
func (c *connector) onSendError(l *link) error {
	conn, ok := wire.As[wire.Ender](l.conn)
	if !ok {
		return nil
	}
	reason := endReason(conn.Err())
	if reason == nil {
		return nil
	}
	if c.ready.Load() && c.link.Load() == l && !errors.Is(reason, ErrClosed) {
		if lost := c.restarts.begin(l, reason); lost != nil {
			return lost
		}
	}
	return closedError(reason)
}

// keepAlive pings the current connection at intervals while it is idle, until ctx ends. If the
// server does not answer within one interval, the connection ends.
func (c *connector) keepAlive(ctx context.Context, every time.Duration) {
	for backoff.Sleep(ctx, every) == nil {
		l := c.link.Load()
		if !c.isIdle(l) || c.isResponding(ctx, l, every) {
			continue
		}
		l.kill() // a process that does not answer is not asked to end
		l.onEnd(fmt.Errorf("server does not respond: no answer to %s within %v (Options.Timeouts.KeepAlive)", c.current().pingMethod(), every))
	}
}

// isIdle reports whether a ping would tell something: not during calls, which have limits of their own and may occupy the
// server, nor during requests of the server, which waits for an answer.
func (c *connector) isIdle(l *link) bool {
	return !c.sessions.renewals.UnderWay() && l.endErr() == nil && !l.isBusy()
}

// isResponding pings the server, and returns false if it gives no answer in time although nothing
// else is in progress.
func (c *connector) isResponding(ctx context.Context, l *link, within time.Duration) bool {
	ping, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := c.wire.ping(ping)
	return err == nil || ping.Err() == nil || ctx.Err() != nil || !c.isIdle(l)
}
