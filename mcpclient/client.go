package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Client is a connection to one server. Its methods may be called concurrently, including from
// handlers and callbacks.
type Client struct {
	peer
	opts      Options // with defaults
	connector connector
	caller    caller

	wire   roundTripper
	levels logLevels

	answerer      answerer
	tools         toolRegistry
	lists         *pageReader
	tasks         taskStarter
	sessions      *sessions
	subscriptions *subscriptions
	standalone    standaloneStream

	*gatherer
	elicitations openElicitations
	visits       urlVisits
	cache        cache
}

// Server returns what is known about the server. In [Middleware] it is zero before the end of the
// handshake. What it points to is shared and must not be modified.
func (c *Client) Server() mcp.Server { return c.serverInfo() }

// Transport returns the transport in use: the one of Connect, or one with HTTP.SSE set to which an
// [HTTP] fell back.
func (c *Client) Transport() Transport {
	if l := c.link.Load(); l != nil {
		return l.transport
	}
	return c.connector.negotiator.transport // a hook of the first connection asks
}

// SeparatesCalls reports whether the server's requests during a call arrive in its response, or its
// result, and so belong to it. On a shared connection, such as stdio, a legacy server's do not.
func (c *Client) SeparatesCalls() bool {
	l := c.link.Load()
	return !c.current().has(serverRequests) || l != nil && l.exchange != nil
}

// Ping returns nil if the server responds: to ping in the legacy era, to server/discover in the
// modern one, which has no ping. An error from the server is an error.
func (c *Client) Ping(ctx context.Context, opts ...CallOption) error {
	if err := c.caller.calls.do(ctx, &request{method: c.current().pingMethod(), ping: true}, nil, opts); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Call sends any request and returns its result unchanged. params is nil, a [json.RawMessage]
// or a value that marshals to a JSON object. Entries of its _meta are sent like entries of
// [WithMeta], which take precedence, and are refused for the same reasons.
func (c *Client) Call(ctx context.Context, method string, params any, opts ...CallOption) (json.RawMessage, error) {
	r, meta, err := customRequest(method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	p := c.caller.calls
	if method == "skills/get" { // its result may be cached, like a list
		p = c.caller.reads
	}
	var raw json.RawMessage
	if err := p.do(ctx, r, &raw, append(meta, opts...)); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return raw, nil
}

// Notify sends any notification, and waits until the connection has accepted it. params is nil, a
// [json.RawMessage] or a value that marshals to a JSON object.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	encoded, err := jsonrpc.EncodeParams(params)
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	if err := c.notify(ctx, method, encoded); err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// notify sends a notification, and sends it again in a new session if the server had forgotten the
// session, or it belongs to another user.
func (c *Client) notify(ctx context.Context, method string, params []byte) error {
	if _, err := c.sessions.awaitSession(ctx); err != nil {
		return err
	}
	for renewed := 0; ; renewed++ {
		err := c.caller.notifyOn(ctx, c.link.Load(), method, params)
		again, err := c.sessions.resendNotification(ctx, err, renewed)
		switch {
		case again:
		case err != nil && !c.life.IsOpen():
			return c.life.Cause()
		default:
			return err
		}
	}
}

// ClearCache removes all cached results. Call it when the client's identity at the server
// changes, because results may be private to an identity.
func (c *Client) ClearCache() { c.cache.clear() }

// SessionID returns the id of the session, or "". A server may set it over Streamable HTTP in
// the legacy era; each new session has another. Treat it as a secret.
func (c *Client) SessionID() string {
	if l := c.link.Load(); l != nil && l.exchange != nil { // nil in a hook of the first connection
		return l.sessionID()
	}
	return ""
}

// SetRoots replaces the roots and notifies a legacy server, unless [Protocol.ExactCapabilities]
// omits roots.listChanged. A modern server asks again when it needs the roots. It requires that
// [Options.Roots] was set, even if empty.
func (c *Client) SetRoots(ctx context.Context, roots []mcp.Root) error {
	switch {
	case c.opts.Handlers[rootsMethod] != nil:
		return errors.New("set roots: Options.Handlers answers roots/list; send notifications/roots/list_changed by Notify")
	case !c.offers.roots:
		return errors.New("set roots: Options.Roots was nil, so that the client did not declare roots")
	}
	for _, r := range roots {
		if err := checkRoot(r); err != nil {
			return fmt.Errorf("set roots: %w", err)
		}
	}
	c.answerer.storeRoots(roots)
	if !c.current().has(serverRequests) || c.offers.quietRoots {
		return nil
	}
	return c.Notify(ctx, "notifications/roots/list_changed", nil)
}
