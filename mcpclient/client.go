package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Client is a connection to one server. Its methods may be called
// concurrently, also from handlers and callbacks.
type Client struct {
	peer
	opts      Options // with defaults
	log       *slog.Logger
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
	visits urlElicitations
	cache  cache

	life *lifecycle.Lifecycle
}

// silent is the logger of a client without Options.Logger.
var silent = slog.New(slog.DiscardHandler)

// Server tells what is known of the server, nothing before Connect has learnt it.
// What it points to is shared and must not be changed.
func (c *Client) Server() mcp.Server { return c.knownServer() }

// Transport is the recipe of the connection in use: that of Connect, or one
// with HTTP.SSE set that a [HTTP] fell back to.
func (c *Client) Transport() Transport {
	if l := c.link.Load(); l != nil {
		return l.transport
	}
	return c.connector.negotiator.transport // a hook of the first connection asks
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
	if err := c.caller.call(ctx, c.caller.calls, &request{method: c.current().pingMethod()}, nil, opts); err != nil {
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
	way := c.caller.calls
	if method == "skills/get" { // its result says how long it holds, like a list
		way = c.caller.reads
	}
	var raw json.RawMessage
	if err := c.caller.call(ctx, way, r, &raw, append(meta, opts...)); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return raw, nil
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
		err := c.caller.notifyOn(ctx, c.link.Load(), method, params)
		if again, err := c.sessions.notifyAgain(ctx, err, renewed); !again {
			return err
		}
	}
}

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

// SetLogLevel asks for log messages at level and above from here on, instead of
// [Options.LogLevel]; "" asks for none. A modern server is asked on every later
// request, and nothing is sent for that alone. A legacy one is told at once, and in
// every later session; it cannot be asked to be silent, so that "" asks it for
// [mcp.LogEmergency] only, if it was told another level. The error is a
// [*CapabilityError] where the server does not log.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	if level != "" && !level.Known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	return c.levels.ask(ctx, c.caller.calls, level)
}

// SetRoots replaces the roots and notifies a legacy server, unless
// [Protocol.ExactCapabilities] omits roots.listChanged; a modern server asks
// again when it needs the roots. The client's [Options.Roots] must have been
// set, empty or not.
func (c *Client) SetRoots(ctx context.Context, roots []mcp.Root) error {
	switch {
	case c.opts.Handlers[rootsMethod] != nil:
		return errors.New("set roots: Options.Handlers answers roots/list (Notify tells the server that they changed: notifications/roots/list_changed)")
	case !c.offers.roots:
		return errors.New("set roots: Options.Roots was nil, so that the client did not declare roots")
	}
	for _, r := range roots {
		if err := checkRoot(r); err != nil {
			return fmt.Errorf("set roots: %w", err)
		}
	}
	c.answerer.keepRoots(roots)
	if !c.current().answers() || c.offers.quietRoots {
		return nil
	}
	return c.Notify(ctx, "notifications/roots/list_changed", nil)
}

// Complete asks the server to propose values for an argument of a prompt or a
// resource template. It returns at most the first 100 values, and sets HasMore
// if there are more.
//
// Do not send a request for every keystroke: wait until the person pauses, and
// cancel the context of an outdated call.
func (c *Client) Complete(ctx context.Context, p *mcp.CompleteParams, opts ...CallOption) (*mcp.Completion, error) {
	if p == nil {
		return nil, errors.New("complete: no params (nil)")
	}
	out, err := complete(ctx, &c.caller, p, opts)
	if err != nil {
		return nil, fmt.Errorf("complete argument %q of %q: %w", p.Argument, cmp.Or(p.Prompt, p.Template), err)
	}
	return out, nil
}
