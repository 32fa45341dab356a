package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Client is a connection to one server. Its methods may be called
// concurrently, also from handlers and callbacks.
type Client struct {
	peer
	pipelines
	opts       Options // with defaults
	log        *slog.Logger
	negotiator negotiator

	sending Handler // through Options.Middleware; nil for none

	wire        roundTripper
	connections atomic.Int64 // dialed so far
	levels      logLevels

	answerer      answerer
	tools         toolRegistry
	lists         *pageReader
	tasks         taskStarter
	sessions      *sessions
	subscriptions *subscriptions
	standalone    standaloneStream
	restarts      *restarts // nil without Options.Restart

	*gatherer
	callbacks *lifecycle.CallbackQueue // of OnNotification and Restart.Notify
	async     *lifecycle.SendQueue
	visits    urlElicitations
	cache     cache

	life *lifecycle.Lifecycle
}

// silent is the logger of a client without Options.Logger.
var silent = slog.New(slog.DiscardHandler)

// Server tells what is known of the server, nothing before Connect has learnt it.
// What it points to is shared and must not be changed.
func (c *Client) Server() mcp.Server { return c.knownServer() }

// Transport is the recipe of the connection in use: that of Connect, or the [SSE]
// that a [HTTP] fell back to.
func (c *Client) Transport() Transport {
	if l := c.link.Load(); l != nil {
		return l.transport
	}
	return c.negotiator.transport // a hook of the first connection asks
}

// SeparatesCalls reports whether a question of the server tells the call that it belongs to. A server of
// the legacy era over a shared connection, such as standard input and output, does not say it.
func (c *Client) SeparatesCalls() bool {
	l := c.link.Load()
	return !c.current().answers() || l != nil && l.exchange != nil
}

// Ping returns nil if the server answers: to ping in the legacy era, to server/discover in the
// modern one, which has no ping. An error that the server answers with is an error.
func (c *Client) Ping(ctx context.Context, opts ...CallOption) error {
	if err := c.call(ctx, c.calls, &request{method: c.current().pingMethod()}, nil, opts); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Call sends any request and returns its result as received. params is nil, a
// [json.RawMessage] or a value that marshals to a JSON object. Entries of its
// _meta are sent like entries of [WithMeta], which win, and are refused for the same
// reasons.
func (c *Client) Call(ctx context.Context, method string, params any, opts ...CallOption) (json.RawMessage, error) {
	r, meta, err := customRequest(method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	way := c.calls
	if method == "skills/get" { // its result says how long it holds, like a list
		way = c.reads
	}
	var raw json.RawMessage
	if err := c.call(ctx, way, r, &raw, append(meta, opts...)); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return raw, nil
}

// notifyOn sends a notification over a connection, through Options.Middleware.
func (c *Client) notifyOn(ctx context.Context, l *link, method string, params []byte) error {
	if c.sending != nil {
		return c.throughNotify(ctx, l, method, params)
	}
	return l.postNotification(ctx, method, params)
}

// changed forgets what is cached of what has changed.
func (c *Client) changed(change mcp.Change) { c.cache.invalidate(change) }

// maxNotificationBytes bounds the memory of the notifications that wait for
// [Options.OnNotification].
const maxNotificationBytes = wire.DefaultMaxMessage

// noticed passes a notification on to subscriptions of the legacy era and to the
// observer.
func (c *Client) noticed(n *mcp.Notification) {
	if !c.current().has(listenStreams) {
		if n.Method == "notifications/elicitation/complete" {
			c.visits.complete(n.Params)
		} else if change, ok := n.Change(); ok && n.Method != modernTaskNotice {
			c.subscriptions.spread(change)
		}
	}
	if observe := c.opts.OnNotification; observe != nil {
		n := &mcp.Notification{Method: n.Method, Params: bytes.Clone(n.Params)} // without the rest of the line or batch
		c.callbacks.Add(func() { observe(n) }, len(n.Method)+len(n.Params))
	}
}

// Notify sends any notification. params is nil, a [json.RawMessage] or a value
// that marshals to a JSON object.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	encoded, err := jsonrpc.EncodeParams(params)
	if err == nil {
		err = c.sessions.settle(ctx)
	}
	if err == nil {
		err = c.notify(ctx, method, encoded)
		if err != nil && !c.life.IsOpen() {
			err = c.life.Cause()
		}
	}
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// notify sends a notification, again where it belongs to the next session.
func (c *Client) notify(ctx context.Context, method string, params []byte) error {
	for renewed := 0; ; renewed++ {
		err := c.notifyOn(ctx, c.link.Load(), method, params)
		if again, err := c.sessions.notifyAgain(ctx, err, renewed); !again {
			return err
		}
	}
}

// sessionLost implements [linkClient].
func (c *Client) sessionLost(err error) bool { return c.sessions.notice(err) }

// ClearCache forgets all cached results. Call it when the server sees another
// identity than before: a private result is for the one who asked.
func (c *Client) ClearCache() { c.cache.clear() }

// SessionID is the id of the session, "" if there is none. A server may set it
// over Streamable HTTP in the legacy era; it changes with each new session.
// Treat it as a secret.
func (c *Client) SessionID() string {
	if l := c.link.Load(); l != nil && l.exchange != nil { // nil for a hook of the first connection
		return l.sessionID()
	}
	return ""
}

// Validator is [Schemas.Validator].
func (c *Client) Validator() Validator { return c.opts.Schemas.Validator }
