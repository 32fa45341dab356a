package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Connect connects to the server, determines its revision, and prepares it for use. ctx bounds only
// the connecting. Without a deadline that takes at most 1 min for a [Command], and 10 min for other
// transports, where a person may have to sign in first. Connect returns within half a second of the
// end of ctx. If it fails, it kills a process that it has started and that does not exit by itself.
//
// A server that answers server/discover is modern. After any other answer, or silence for
// [Timeouts.Probe], the server counts as legacy and gets initialize. Errors that only a modern
// server sends are returned, and so are failures that say nothing about the server (HTTP statuses
// 401, 403, 408, 429 and 5xx, network failures over HTTP); 408, 429 and 503 after several attempts.
func Connect(ctx context.Context, t Transport, opts *Options) (*Client, error) {
	c, err := newClient(ctx, t, opts.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	ctx, cancel := c.connector.withConnectTimeout(ctx)
	defer cancel()
	if err := c.connector.open(ctx); err != nil {
		if ctx.Err() != nil {
			err = c.link.Load().explain(err)
		}
		err = c.scrubError(err)
		c.connector.discard(ctx)
		return nil, fmt.Errorf("connect: %w", err)
	}
	if c.timeouts.KeepAlive > 0 && c.link.Load().exchange == nil {
		c.life.Start(func() { c.connector.keepAlive(c.life.Context(), c.timeouts.KeepAlive) })
	}
	return c, nil
}

// newClient returns a client with checked options. Its goroutines get the values of ctx.
func newClient(ctx context.Context, t Transport, opts Options) (*Client, error) {
	offers, offersErr := opts.offers()
	introduction, infoErr := jsonrpc.Marshal(opts.ClientInfo)
	if infoErr != nil {
		infoErr = fmt.Errorf("Options.ClientInfo: %w", infoErr)
	}
	sending, sendingErr := compose("Options.Middleware", opts.Middleware)
	answering, answeringErr := compose("Options.ServerMiddleware", opts.ServerMiddleware)
	if err := errors.Join(opts.check(), offersErr, missingTransportError(t), infoErr, sendingErr, answeringErr); err != nil {
		return nil, err
	}
	c := &Client{opts: opts}
	c.protocol, c.limits, c.timeouts = opts.Protocol, opts.Limits, opts.Timeouts
	c.validator, c.logLevel, c.log = opts.Validator, opts.LogLevel, opts.Logger
	c.introduction = string(introduction)
	c.offers = offers
	c.caller.sending = sending
	c.answerer.middleware = answering
	if c.offers.roots && opts.Handlers[rootsMethod] == nil {
		c.answerer.storeRoots(opts.Roots)
	}
	c.assemble(ctx, t)
	return c, nil
}

const (
	commandTimeout = time.Minute      // of Connect to a process
	signInTimeout  = 10 * time.Minute // of Connect if a person may have to sign in
)

// withConnectTimeout bounds the context of a Connect, unless it has a deadline.
func (c *connector) withConnectTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx, func() {}
	}
	limit := signInTimeout
	if _, ok := c.negotiator.transport.(*Command); ok {
		limit = commandTimeout
	}
	late := fmt.Errorf("no connection within %v (give the context of Connect a deadline to wait longer)", limit)
	return context.WithTimeoutCause(ctx, limit, late)
}

// open does everything that precedes the first call. After an error the connection is still open.
func (c *connector) open(ctx context.Context) error {
	if err := c.dialAndNegotiate(ctx); err != nil {
		return err
	}
	if c.restarts != nil {
		c.restarts.connectedAt = time.Now()
	}
	c.ready.Store(true)
	return c.link.Load().endErr()
}

func (c *connector) dialAndNegotiate(ctx context.Context) error {
	start := time.Now()
	c.era.Store(&eraBox{c.negotiator.firstEra()}) // before anything can be received
	if err := c.dial(ctx, c.negotiator.transport); err != nil {
		return addURLHint(err) // some transports send a request when they dial
	}
	if err := c.negotiator.negotiate(ctx); err != nil {
		return err
	}
	c.standalone.handshakeTime.Store(int64(time.Since(start)))
	return c.finishHandshake(ctx)
}

// dial opens a connection and makes it the current one, without closing the previous one.
func (c *connector) dial(ctx context.Context, t Transport) error {
	conn, err := t.Dial(ctx)
	switch {
	case err != nil:
		return err
	case conn == nil:
		return fmt.Errorf("%T.Dial returned no connection and no error", t)
	}
	l := c.newLink(t, conn)
	c.link.Store(l)
	if l.exchange == nil && !c.life.Start(l.read) {
		_ = conn.Close()
		return c.life.Cause()
	}
	return nil
}

// finishHandshake does what follows the handshake: it opens the standalone stream if something
// reads it, and sends the log level to a legacy server.
func (c *connector) finishHandshake(ctx context.Context) error {
	e := c.current()
	if c.observesServer() || c.standalone.isWanted() {
		c.standalone.open(ctx, true)
	}
	if !e.has(sessionLevel) || c.server.Load().Capabilities.Logging == nil {
		return nil
	}
	err := c.levels.setLevel(ctx, c.direct, c.levels.requestedLevel())
	if refusesLevel(err) {
		c.log.Warn("the server declares logging and refuses to be told the level", "error", err)
		return nil
	}
	return err
}

// refusesLevel reports whether err, the error of logging/setLevel, concerns only this request: the session and the connection
// can be used for others.
func refusesLevel(err error) bool {
	if wraps[*mcp.RPCError](err) {
		return true
	}
	status, ok := errors.AsType[*transport.HTTPError](err)
	_, lost := lostSessionID(err)
	return ok && !lost && concernsRevision(status)
}

// observesServer reports whether the host wants messages of the server other than responses.
func (c *connector) observesServer() bool {
	offers := &c.offers
	answers := offers.sampling != nil || offers.elicitation != nil || offers.roots || len(c.opts.Handlers) > 0
	return answers || c.opts.OnNotification != nil
}
