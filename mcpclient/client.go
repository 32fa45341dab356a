package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Client is a connection to one server. Its methods may be called
// concurrently, also from handlers and callbacks.
type Client struct {
	peer
	pipelines
	opts       Options // with defaults
	log        *slog.Logger
	negotiator negotiator

	sending   Handler // through Options.Middleware; nil for none
	answering Handler // through Options.ServerMiddleware; nil for none

	lastCall atomic.Int64
	level    atomic.Pointer[mcp.LogLevel] // that was set while connected; nil for Options.LogLevel

	roots         atomic.Pointer[[]mcp.Root] // nil without Options.Roots
	tools         toolRegistry
	lists         *pageReader
	session       session
	subscriptions *subscriptions
	standalone    standaloneStream
	restarts      *restarts // nil without Options.Restart

	*gatherer
	callbacks *callbackQueue // of OnNotification and Restart.Notify
	async     *asyncSender
	visits    urlElicitations
	cache     cache

	life  *lifecycle
	ready atomic.Bool // Connect has succeeded
}

// silent is the logger of those who want none.
var silent = slog.New(slog.DiscardHandler)

// Connect reaches the server, finds out which revision it speaks, and prepares
// it for use. The context bounds the connecting only, and so does
// [Timeouts.Connect] if it has no deadline. Connect returns within half
// a second of its end: a process that was started in vain and does not end by
// itself is killed.
//
// A server that answers server/discover is modern. Every other answer is a legacy
// server's, and so is silence for [Timeouts.Probe]; those get initialize. Failures that
// say nothing about the server (HTTP statuses 401, 403, 408, 429 and 5xx, a network
// that fails) are returned, 408, 429 and 503 after a few tries.
func Connect(ctx context.Context, t Transport, opts *Options) (*Client, error) {
	c, err := newClient(ctx, t, opts.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	ctx, cancel := c.connecting(ctx)
	defer cancel()
	if err := c.open(ctx); err != nil {
		if ctx.Err() != nil {
			err = c.link.Load().explain(err)
		}
		err = c.scrubbed(err)
		c.discard(ctx)
		return nil, fmt.Errorf("connect: %w", err)
	}
	if c.opts.Timeouts.KeepAlive > 0 && c.link.Load().exchange == nil {
		c.life.start(func() { keepAlive(c.life.ctx, c.opts.Timeouts.KeepAlive, c.pinged) })
	}
	return c, nil
}

// newClient makes a client of checked options, whose goroutines get the values of ctx.
func newClient(ctx context.Context, t Transport, opts Options) (*Client, error) {
	c := &Client{opts: opts, log: opts.Logger}
	c.undeclared = opts.Protocol.AllowUndeclared
	c.lists = &pageReader{peer: &c.peer, cache: &c.cache, limit: opts.Limits.Pages}
	c.lists.read = func(ctx context.Context, r *request, page any, opts []CallOption) error {
		return c.call(ctx, c.reads, r, page, opts)
	}
	c.tools.peer, c.tools.schemas, c.tools.lists = &c.peer, opts.Schemas, c.lists
	var errs [4]error
	c.introduction, errs[0] = encodeImplementation(&opts.Client)
	errs[1] = opts.check()
	c.offers, errs[2] = opts.offered()
	errs[3] = missing(t)
	err := errors.Join(errs[:]...)
	if err == nil {
		c.sending, errs[0] = compose("Options.Middleware", opts.Middleware, innermost)
		c.answering, errs[1] = compose("Options.ServerMiddleware", opts.ServerMiddleware, innermost)
		err = errors.Join(errs[:2]...)
	}
	if err != nil {
		return nil, err
	}
	if c.offers.roots && opts.Handlers[rootsMethod] == nil {
		c.keepRoots(opts.Roots)
	}
	if opts.Restart != nil {
		c.restarts = &restarts{}
	}
	c.life = newLifecycle(ctx, opts.Timeouts.Close, c.log)
	c.gatherer = &gatherer{c.life, newSlots(opts.Limits.ServerRequests), c.handle}
	c.callbacks = newCallbackQueue(c.life, opts.Limits.Notifications, c.log)
	c.async = newAsyncSender(c.life, c.log)
	c.pipelines = c.newPipelines()
	c.negotiator = negotiator{
		peer:         &c.peer,
		transport:    t,
		protocol:     opts.Protocol,
		probeTimeout: opts.Timeouts.Probe,
		life:         c.life,
		log:          c.log,
		send:         c.direct,
		dial:         c.dial,
		notify:       c.notifyOn,
	}
	c.subscriptions = &subscriptions{
		life:       c.life,
		log:        c.log,
		sessions:   c,
		send:       c.direct,
		listen:     c.pipelines.listen,
		silence:    c.streamSilence,
		agreed:     c.cache.clear,
		maxChanges: opts.Limits.Notifications,
	}
	return c, nil
}

// connecting bounds the context of a Connect that has no bound.
func (c *Client) connecting(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := 10 * time.Minute
	if t, ok := c.negotiator.transport.(transport.Bounded); ok {
		limit = t.ConnectTimeout()
	}
	limit = cmp.Or(c.opts.Timeouts.Connect, limit)
	if _, bounded := ctx.Deadline(); bounded || limit < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection within %v (Options.Timeouts.Connect)", limit))
}

// open does all that precedes the first call.
func (c *Client) open(ctx context.Context) error {
	if err := c.reach(ctx); err != nil {
		return err
	}
	if c.restarts != nil {
		c.restarts.up = time.Now()
	}
	c.ready.Store(true)
	return c.link.Load().dead()
}

// reach dials and makes the connection one that can be used.
func (c *Client) reach(ctx context.Context) error {
	c.era.Store(&eraBox{c.negotiator.firstEra()}) // before anything can be received
	if err := c.dial(ctx, c.negotiator.transport); err != nil {
		return doubtful(err) // the dial of some transports is a request
	}
	if err := c.negotiator.negotiate(ctx); err != nil {
		return err
	}
	return c.begin(ctx)
}

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

// Ping asks the server for a sign of life: ping in the legacy era,
// server/discover in the modern one, which has no ping.
func (c *Client) Ping(ctx context.Context, opts ...CallOption) error {
	if err := c.call(ctx, c.calls, &request{method: c.current().pingMethod()}, nil, opts); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Call sends any request and returns its result as received. params is nil, a
// [json.RawMessage] or a value that marshals to a JSON object. Entries of its
// _meta are sent as those of [WithMeta], which win, and are refused like them.
func (c *Client) Call(ctx context.Context, method string, params any, opts ...CallOption) (json.RawMessage, error) {
	r, meta, err := customRequest(method, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	way := c.calls
	if method == "skills/get" { // whose result says how long it holds, as those of lists do
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

func (c *Client) isReady() bool { return c.ready.Load() }

// changed forgets what is cached of what has changed.
func (c *Client) changed(change Change) { c.cache.invalidate(change) }

// noticed passes a notification on to subscriptions of the legacy era and to the
// observer.
func (c *Client) noticed(m jsonrpc.Message) {
	if !c.current().has(listenStreams) {
		if m.Method == "notifications/elicitation/complete" {
			c.visits.complete(m.Params)
		} else if change, ok := changeOf(m); ok && m.Method != modernTaskNotice {
			c.subscriptions.spread(change)
		}
	}
	if observe := c.opts.OnNotification; observe != nil {
		n := &mcp.Notification{Method: m.Method, Params: bytes.Clone(m.Params)} // without the rest of the line or batch
		c.callbacks.add(callback{func() { observe(n) }, len(n.Method) + len(n.Params)})
	}
}

// Notify sends any notification. params is nil, a [json.RawMessage] or a value
// that marshals to a JSON object.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	encoded, err := jsonrpc.EncodeParams(params)
	if err == nil {
		err = c.session.settle(ctx)
	}
	if err == nil {
		err = c.notify(ctx, method, encoded)
		if err != nil && !c.life.isOpen() {
			err = c.life.cause()
		}
	}
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// notify sends a notification, once more where it is of the user of the next session.
func (c *Client) notify(ctx context.Context, method string, params []byte) error {
	for renewed := 0; ; renewed++ {
		err := c.notifyOn(ctx, c.link.Load(), method, params)
		if again, err := c.otherOwner(ctx, err, renewed); !again {
			return err
		}
	}
}
