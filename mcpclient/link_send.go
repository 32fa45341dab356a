package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// roundTrip sends a request once and returns the result of its response.
func (l *link) roundTrip(ctx context.Context, c *Client, r *request, o *callOptions) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	c.number(r)
	if c.sending != nil && o.seen == nil {
		return l.roundTripThrough(ctx, c, r, o)
	}
	e := c.current()
	maxNotes := 0
	if o.progress != nil {
		maxNotes = o.maxNotes
	}
	call, err := l.start(l.flight(ctx, r), maxNotes, o)
	if err != nil {
		return nil, &unsentError{err}
	}
	defer func() { l.finish(call, ctx.Err() != nil) }()
	sent, response, err := l.send(ctx, c, e, call, r, o)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			return nil, err
		}
		if sent && c.ready.Load() && !r.stays && r.method != "initialize" { // "The initialize request MUST NOT be cancelled by clients"
			e.cancel(c, l, call, context.Cause(ctx).Error())
		}
		return nil, ended(ctx)
	}
	idle.From(ctx).Heard()
	if response.Error != nil {
		return nil, rpcError(response.Error, l.scrub)
	}
	if r.sentIn != nil {
		r.sentIn.Store(call.Value.(*inFlight).place(l))
	}
	return response.Result, nil
}

// roundTripThrough is roundTrip by way of Options.Middleware.
func (l *link) roundTripThrough(ctx context.Context, c *Client, r *request, o *callOptions) (json.RawMessage, error) {
	return c.through(ctx, r, o, func(ctx context.Context, r *request, o *callOptions) (json.RawMessage, error) {
		return l.roundTrip(ctx, c, r, o)
	})
}

// flight makes what there is of a request while it awaits its response, over HTTP
// with its message in one piece.
func (l *link) flight(ctx context.Context, r *request) *inFlight {
	if l.exchange == nil {
		return &inFlight{ctx: ctx, request: r}
	}
	whole := &struct {
		inFlight
		message outgoing
	}{inFlight: inFlight{ctx: ctx, request: r}}
	whole.sent = &whole.message
	return &whole.inFlight
}

// start enters a request among those that await their responses.
func (l *link) start(flight *inFlight, maxNotes int, o *callOptions) (*jsonrpc.Call, error) {
	call := &flight.Call
	call.Value = flight
	err := l.calls.Start(call, maxNotes)
	if o.seen != nil {
		o.seen.id = call.ID
	}
	if f := flight.request.follower; f != nil && err == nil {
		f.enter(l, call.ID)
	}
	return call, err
}

// bodies are buffers for messages, which a connection does not keep.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// keptBody bounds a buffer that is kept for the next message, in bytes.
const keptBody = 16 << 10

// send encodes a request, hands it to the connection and waits for its response.
// sent says that the server may have got it.
func (l *link) send(ctx context.Context, c *Client, e era, call *jsonrpc.Call, r *request, o *callOptions) (sent bool, _ jsonrpc.Response, _ error) {
	if l.exchange != nil {
		m := call.Value.(*inFlight).sent
		m.body = e.encode(make([]byte, 0, e.room(r)), call.ID, r, o)
		m.header = e.header(m.room[:0], r)
		m.opensSession, m.heard, m.exchange.first = r.method == "initialize", r.heard, !c.ready.Load()
		m.repeatable = repeatable(r.method)
		if r.session != nil && r.session.session != nil {
			m.bound = true
			m.session.Store(r.session.session)
		}
		return l.converse(ctx, c, call, m, o)
	}
	body := bodies.Get().(*[]byte)
	*body = e.encode((*body)[:0], call.ID, r, o)
	var header fields
	if l.headed != nil {
		header = e.header(nil, r)
	}
	err := l.hand(ctx, *body, header)
	if cap(*body) <= keptBody {
		bodies.Put(body)
	}
	if err != nil {
		response, callErr, ok := call.Response() // it says more
		if refused := c.refused(l); refused != nil && (!ok || callErr != nil) {
			return false, response, &unsentError{cmp.Or(callErr, refused)}
		}
		if ok {
			return true, response, callErr
		}
		conn, ok := transport.As[transport.Acknowledger](l.conn)
		return ok && conn.Acknowledged(), jsonrpc.Response{}, err
	}
	response, err := call.Wait(ctx, func(params json.RawMessage) { tellProgress(o.progress, params) })
	return true, response, err
}

// converse makes an exchange and waits for the response to its request. Progress
// may come over the standalone stream while the exchange says nothing: a caller
// who asked for it waits for both.
func (l *link) converse(ctx context.Context, c *Client, call *jsonrpc.Call, m *outgoing, o *callOptions) (sent bool, _ jsonrpc.Response, _ error) {
	if o.heed || o.progress != nil {
		c.current().heed(ctx, c)
	}
	if o.progress == nil {
		l.swap(ctx, c, call, m)
		response, err, _ := call.Response()
		return true, response, err
	}
	if !c.start(&c.own, func() { l.swap(ctx, c, call, m) }) {
		return false, jsonrpc.Response{}, ErrClosed
	}
	response, err := call.Wait(ctx, func(params json.RawMessage) { tellProgress(o.progress, params) })
	return true, response, err
}

// swap makes an exchange, at whose end the call has its response or an error.
func (l *link) swap(ctx context.Context, c *Client, call *jsonrpc.Call, m *outgoing) {
	answered := false
	err := l.exchange.roundTrip(ctx, m, func(data []byte) bool {
		answered = l.receive(c, data, source{call: call, session: m.session.Load()})
		return answered
	})
	switch {
	case answered:
		return
	case c.ending():
		err = ErrClosed
	case err == nil:
		err = fmt.Errorf("%w: the response ended without an answer to the request", mcp.ErrInvalidResult)
	}
	l.calls.Fail(call.ID, err)
}

// finish forgets a call and ends what is still being answered for it. A server
// request that is only thought to belong to it goes on, unless the caller gave
// the call up.
func (l *link) finish(call *jsonrpc.Call, gaveUp bool) {
	l.calls.Forget(call)
	if !call.Value.(*inFlight).asked.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.asking {
		if a.call == call && (a.certain || gaveUp) {
			a.cancel()
		}
	}
}

// notify sends a notification.
func (l *link) notify(ctx context.Context, c *Client, method string, params []byte) error {
	if c.sending != nil {
		return c.throughNotify(ctx, l, method, params)
	}
	return l.postNotification(ctx, c, method, params)
}

// postNotification is notify past Options.Middleware.
func (l *link) postNotification(ctx context.Context, c *Client, method string, params []byte) error {
	header := c.current().header(nil, &request{method: method})
	return l.post(ctx, c, jsonrpc.AppendNotification(nil, method, params), header, nil)
}

// hand gives a message to a connection that is no exchanger.
func (l *link) hand(ctx context.Context, body []byte, header fields) error {
	if l.headed == nil {
		return l.conn.Send(ctx, body)
	}
	return l.headed.SendWithHeader(ctx, body, header.own())
}

// post sends a message that has no response, in a session that it belongs to, nil
// for the one that there is. The error is errSessionOver when it came too late.
func (l *link) post(ctx context.Context, c *Client, body []byte, header fields, s *httpSession) error {
	if l.exchange == nil {
		err := l.hand(ctx, body, header)
		if err != nil {
			return cmp.Or(c.refused(l), err)
		}
		return nil
	}
	m := &outgoing{body: body, header: header, bound: s != nil}
	m.session.Store(s)
	return l.exchange.post(ctx, m)
}
