package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
		c.life.Start(func() { keepAlive(c.life.Context(), c.opts.Timeouts.KeepAlive, c.pinged) })
	}
	return c, nil
}

// newClient makes a client of checked options, whose goroutines get the values of ctx.
func newClient(ctx context.Context, t Transport, opts Options) (*Client, error) {
	c := &Client{opts: opts, log: opts.Logger}
	c.undeclared = opts.Protocol.AllowUndeclared
	var errs [4]error
	c.introduction, errs[0] = encodeImplementation(&opts.Client)
	errs[1] = opts.check()
	c.offers, errs[2] = opts.offered()
	errs[3] = missing(t)
	err := errors.Join(errs[:]...)
	if err == nil {
		c.sending, errs[0] = compose("Options.Middleware", opts.Middleware, innermost)
		c.answerer.middleware, errs[1] = compose("Options.ServerMiddleware", opts.ServerMiddleware, innermost)
		err = errors.Join(errs[:2]...)
	}
	if err != nil {
		return nil, err
	}
	if c.offers.roots && opts.Handlers[rootsMethod] == nil {
		c.answerer.keepRoots(opts.Roots)
	}
	c.assemble(ctx, t)
	return c, nil
}

// assemble makes the parts of a client. Its goroutines get the values of ctx.
func (c *Client) assemble(ctx context.Context, t Transport) {
	opts := &c.opts
	c.life = lifecycle.New(ctx, lifecycle.Options{Closed: ErrClosed, Ended: ended, Middleware: c.sending != nil, Timeout: opts.Timeouts.Close, Log: c.log})
	a := &c.answerer
	a.peer, a.log, a.visits, a.slots = &c.peer, c.log, &c.visits, lifecycle.NewSlots(opts.Limits.ServerRequests)
	a.sampling, a.elicitation, a.handlers, a.validator = opts.Sampling, opts.Elicitation, opts.Handlers, opts.Schemas.Validator
	a.session, a.request = c, func() *Request { return &Request{Client: c, invocation: new(invocation)} }
	c.gatherer = &gatherer{peer: &c.peer, life: c.life, slots: a.slots, handle: a.handle, limit: opts.Limits.ServerRequests}
	v := &c.visits
	v.peer, v.life, v.log, v.gather = &c.peer, c.life, c.log, c.gather
	v.limit, v.wait = opts.Limits.ServerRequests, opts.Timeouts.ElicitationDone
	c.callbacks = lifecycle.NewCallbackQueue(c.life, opts.Limits.Notifications, maxNotificationBytes, c.log)
	c.async = lifecycle.NewSendQueue(c.life, c.log)
	w := &c.wire
	w.peer, w.life, w.standalone = &c.peer, c.life, &c.standalone
	c.sessions = c.newSessions()
	c.restarts = c.newRestarts()
	stream := &c.standalone
	stream.peer, stream.life, stream.log, stream.sessions = &c.peer, c.life, c.log, c.sessions
	stream.stale = func() { c.subscriptions.spread(mcp.Change{Kind: mcp.Stale}) }
	c.pipelines = c.newPipelines()
	c.lists = &pageReader{peer: &c.peer, cache: &c.cache, limit: opts.Limits.Pages}
	c.lists.read = func(ctx context.Context, r *request, page any, opts []CallOption) error {
		return c.call(ctx, c.reads, r, page, opts)
	}
	c.tools.peer, c.tools.schemas, c.tools.lists = &c.peer, opts.Schemas, c.lists
	call := c.call
	c.levels.peer, c.levels.call, c.levels.initial = &c.peer, call, opts.LogLevel
	c.tasks = taskStarter{
		taskParts: taskParts{client: c, call: call, by: c.calls, wire: &c.wire, tools: &c.tools, limits: &opts.Limits, life: c.life, log: c.log},
		peer:      &c.peer,
		timeouts:  &opts.Timeouts,
	}
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
		sessions:   c.sessions,
		send:       c.direct,
		listen:     c.pipelines.listen,
		silence:    c.streamSilence(opts.Timeouts.SubscriptionIdle),
		agreed:     c.cache.clear,
		maxChanges: opts.Limits.Notifications,
	}
}

// connecting bounds the context of a Connect that has no bound.
func (c *Client) connecting(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := 10 * time.Minute
	switch t := c.negotiator.transport.(type) {
	case *Command: // no person has to log in
		limit = time.Minute
	case wire.Bounded:
		limit = t.ConnectTimeout()
	}
	limit = cmp.Or(c.opts.Timeouts.Connect, limit)
	if _, bounded := ctx.Deadline(); bounded || limit < 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, lateConnect(limit))
}

// lateConnect is the cause of the end of a Connect that took longer.
type lateConnect time.Duration

func (l lateConnect) Error() string {
	return fmt.Sprintf("no connection within %v (Options.Timeouts.Connect)", time.Duration(l))
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

// dial opens the connection and starts to read it.
func (c *Client) dial(ctx context.Context, t Transport) error {
	l := &link{
		number:    c.connections.Add(1),
		transport: t,
		client:    c,
		life:      c.life,
		log:       c.log,
		async:     c.async,
		asked:     c.observes() || len(c.opts.Handlers) > 0,
	}
	conn, err := t.Dial(ctx)
	switch {
	case err != nil:
		return err
	case conn == nil:
		return fmt.Errorf("%T.Dial returned no connection and no error", t)
	}
	l.use(conn, c.gatherer.handle, c.slots, c.opts.Limits.Retries)
	c.link.Store(l)
	if l.exchange == nil {
		if !c.life.Start(l.read) {
			_ = conn.Close()
			return c.life.Cause()
		}
	}
	return nil
}

// begin does what is due once the handshake is done.
func (c *Client) begin(ctx context.Context) error {
	e := c.current()
	if c.observes() {
		c.standalone.want()
	}
	if e.has(standaloneStreams) && c.standalone.isWanted() {
		c.standalone.read(ctx)
	}
	if !e.has(sessionLevel) {
		return nil
	}
	level := c.levels.known()
	if level == "" {
		level = c.levels.wanted()
	}
	if level == "" || c.server.Load().Capabilities.Logging == nil {
		return nil
	}
	err := c.levels.ask(ctx, c.direct, level)
	if _, refused := errors.AsType[*mcp.RPCError](err); refused {
		c.log.Warn("the server declares logging and refuses to be told the level", "error", err)
		return nil
	}
	return err
}

// observes reports whether the host wants to know messages of the server other than
// responses.
func (c *Client) observes() bool {
	return c.offers.sampling != nil || c.offers.elicitation != nil || c.offers.roots || c.opts.OnNotification != nil
}

func (c *Client) newSessions() *sessions {
	renewals := renewal.New(c.life, func() bool { return c.link.Load().dead() != nil })
	return &sessions{
		renewals: renewals,
		eras:     eras{peer: &c.peer, renewals: renewals, forced: c.opts.Protocol.Revision != "", client: c},
		life:     c.life,
		log:      c.log,
		client:   c,
	}
}

func (c *Client) sessionHolder() sessionHolder { return c.link.Load() }

// beginSession makes a session on the connection in use and restores what belonged to
// the one before.
func (c *Client) beginSession(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	before := c.era.Load()
	server, err := c.negotiator.handshake(ctx)
	switch {
	case err == nil:
		c.server.Store(server)
	case c.opts.Protocol.Revision == "" && disproves(err) && c.negotiator.again(ctx) == nil:
		return c.adjust(ctx, before)
	default:
		return err
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	return c.restore(ctx)
}

// restore brings back what a server knew that has forgotten everything.
func (c *Client) restore(ctx context.Context) error {
	c.cache.clear()
	if c.current().has(listenStreams) {
		return nil // each subscription opens its stream again
	}
	return c.subscriptions.watchAgain(ctx)
}

// newRestarts returns nil if none are wanted.
func (c *Client) newRestarts() *restarts {
	if c.opts.Restart == nil {
		return nil
	}
	return &restarts{
		Restart:  *c.opts.Restart,
		renewals: c.sessions.renewals,
		log:      c.log,
		held:     func() restartable { return c.link.Load() },
		reopen:   c.reopen,
		giveUp:   func(err error) { c.life.Fail(c.scrubbed(err), c.disconnect) },
		scrub:    c.scrubbed,
		queue:    func(tell func()) { c.callbacks.Add(tell, 0) },
	}
}

// reopen makes one attempt of a restart.
func (c *Client) reopen(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, restartTimeout, fmt.Errorf("not ready within %v", restartTimeout))
	defer cancel()
	defer func() {
		if err == nil {
			err = ctx.Err() // Close may not have seen the new connection
		}
		if err != nil {
			l := c.link.Load()
			if ctx.Err() != nil {
				err = l.explain(err)
			}
			_ = l.end()
		}
	}()
	if err := c.reach(ctx); err != nil {
		return err
	}
	c.subscriptions.endOthers(c.current().has(listenStreams), errOtherEra)
	return c.restore(ctx)
}

// lost is called by a link whose connection ended by itself. It returns the
// error of the calls that wait on it.
func (c *Client) lost(l *link, err error) error {
	if c.ready.Load() && c.link.Load() == l {
		if lost := c.restarts.begin(l, err); lost != nil {
			return lost
		}
		c.life.Fail(closedBy(err), c.disconnect)
	}
	return closedBy(err)
}

// refused is the error of a message that the connection did not take because it is
// ending, nil while it is not. It may bring answers for a while.
func (c *Client) refused(l *link) error {
	conn, ok := wire.As[wire.Ender](l.conn)
	if !ok {
		return nil
	}
	reason := hungUp(conn.Err())
	if reason == nil {
		return nil
	}
	if c.ready.Load() && c.link.Load() == l && !errors.Is(reason, ErrClosed) {
		if lost := c.restarts.begin(l, reason); lost != nil {
			return lost
		}
	}
	return closedBy(reason)
}

func (c *Client) pinged() pinged { return pingedLink{c, c.link.Load()} }
