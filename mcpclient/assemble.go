package mcpclient

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// assemble creates the parts of a client. Its goroutines get the values of ctx.
func (c *Client) assemble(ctx context.Context, t Transport) {
	c.life = lifecycle.New(ctx, lifecycle.Options{
		Closed:     ErrClosed,
		Ended:      contextError,
		Middleware: c.caller.sending != nil,
		Timeout:    closeTimeout,
		Log:        c.log,
	})
	c.assembleAnswering()
	c.assembleConnector()
	c.assembleCalling()
	c.assembleFeatures()
	c.connector.direct = c.caller.direct
	c.connector.subscriptions = c.subscriptions
	c.connector.negotiator = negotiator{
		peer:      &c.peer,
		transport: t,
		send:      c.caller.direct.send,
		dial:      c.connector.dial,
		notify:    c.caller.notifyOn,
	}
}

func (c *Client) assembleAnswering() {
	a := &c.answerer
	a.peer = &c.peer
	a.opts = &c.opts
	a.open = &c.elicitations
	a.slots = make(lifecycle.Slots, c.limits.ServerRequests)
	a.session = c
	a.newRequest = func() *Request { return &Request{Client: c, invocation: new(invocation)} }
	c.gatherer = &gatherer{
		peer:   &c.peer,
		slots:  a.slots,
		handle: a.handle,
	}
	c.visits = urlVisits{
		peer:   &c.peer,
		open:   &c.elicitations,
		gather: c.gather,
	}
}

// assembleConnector creates what connects, except what needs the pipelines.
func (c *Client) assembleConnector() {
	c.connector = connector{
		peer:         &c.peer,
		opts:         &c.opts,
		wire:         &c.wire,
		standalone:   &c.standalone,
		levels:       &c.levels,
		cache:        &c.cache,
		elicitations: &c.elicitations,
		handle:       c.answerer.handle,
		slots:        c.answerer.slots,
		callbacks:    lifecycle.NewCallbackQueue(c.life, maxNotifications, maxNotificationBytes, c.log),
		async:        lifecycle.NewSendQueue(c.life, c.log),
	}
	c.sessions = c.connector.newSessions()
	c.connector.sessions = c.sessions
	if c.limits.Restarts > 0 {
		c.connector.restarts = &restarts{connector: &c.connector}
	}
	c.standalone = standaloneStream{
		peer:     &c.peer,
		sessions: c.sessions,
		ping:     c.wire.ping,
		stale:    func() { c.subscriptions.publish(mcp.Change{Kind: mcp.Stale}) },
	}
}

func (c *Client) assembleCalling() {
	c.wire.peer = &c.peer
	c.wire.standalone = &c.standalone
	c.caller.peer = &c.peer
	c.caller.client = c
	c.caller.wire = &c.wire
	c.caller.levels = &c.levels
	c.caller.cache = &c.cache
	c.caller.pipelines = c.newPipelines()
}

func (c *Client) assembleFeatures() {
	c.lists = &pageReader{
		peer:  &c.peer,
		cache: &c.cache,
		read:  c.caller.reads.do,
	}
	c.tools.peer = &c.peer
	c.tools.lists = c.lists
	c.levels.peer = &c.peer
	c.tasks = taskStarter{
		gatherer: c.gatherer,
		call:     c.caller.calls.do,
		wire:     &c.wire,
	}
	c.subscriptions = &subscriptions{
		life:           c.life,
		log:            c.log,
		sessions:       c.sessions,
		send:           c.caller.direct.send,
		listen:         c.caller.listen,
		isOverHTTP:     func() bool { return c.link.Load().exchange != nil },
		onAcknowledged: c.cache.clear,
	}
}

// newPipelines connects the stages. The last one wrapped runs first.
func (c *Client) newPipelines() (p pipelines) {
	s := sender(c.wire.roundTrip)
	s = withRetry(s, c.caller.retries(repeatableInCall), c.sessions)
	s = withParamHeaders(s, &c.tools)
	s = withURLVisits(s, &c.visits)
	s = withRounds(s, c.gatherer)
	s = withMiddleware(s, &c.caller)
	p.calls = pipeline{&c.caller, s}
	p.reads = pipeline{&c.caller, withCache(s, &c.cache, c.limits.Cache, c)}

	s = withRetry(c.wire.roundTrip, c.caller.retries(repeatableInHandshake), noSessions{})
	p.direct = pipeline{&c.caller, withMiddleware(s, &c.caller)}
	p.listen = withMiddleware(c.wire.listen, &c.caller)
	return p
}
