package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// link is one dialed connection and the calls that wait on it.
type link struct {
	conn      Conn
	transport Transport // that conn is of
	exchange  exchanger // conn, when every request has a response channel of its own
	calls     jsonrpc.Calls

	mu     sync.Mutex
	asking map[askedID]*asked // server requests being answered; nil before the first
	err    error              // why the connection ended by itself

	breaches, failures int // of the protocol, and of answering the server
}

// exchanger is a Conn on which every request has a response channel of its own:
// HTTP. Such a connection needs no reader, and what goes wrong with one
// exchange concerns that call alone.
type exchanger interface {
	Conn

	// roundTrip sends a request and gives every message of its response to
	// deliver, in order and on this goroutine, until deliver is satisfied or
	// the response ends.
	roundTrip(ctx context.Context, m *outgoing, deliver func([]byte) (satisfied bool)) error

	// post sends a message that has no response.
	post(ctx context.Context, m *outgoing) error

	// listen gives deliver the messages of the server's standalone stream until
	// ctx ends or the server has none. It calls open whenever the stream is open;
	// resumed says that the server was asked to go on where it had ended.
	listen(ctx context.Context, m *outgoing, open func(resumed bool), deliver func([]byte)) error

	// endCalls ends all round trips.
	endCalls()

	// endSession ends all exchanges, then the sessions on the server, if there
	// are any.
	endSession(ctx context.Context, header fields)

	// inSession reports whether there are any.
	inSession() bool
	sessionID() string

	// lose takes the session for one that has ended, and returns it.
	lose() *httpSession

	scrubber
}

// outgoing is a message on its way to an exchanger.
type outgoing struct {
	body         []byte
	header       fields
	room         [3]field // for header, which seldom has more
	opensSession bool     // the response may name a session
	bound        bool     // to session as it is; otherwise it joins the one that there is
	heard        func()   // called when something of the response comes, if set

	session  atomic.Pointer[httpSession] // that it belongs to; nil before it is sent, and for none
	exchange exchange                    // that carries it over HTTP
}

// source is where a message of the server came from.
type source struct {
	call    *jsonrpc.Call // in whose response it came; nil elsewhere
	session *httpSession  // that it belongs to; nil where there is none
}

// dial opens the connection and starts to read it.
func (c *Client) dial(ctx context.Context) error {
	conn, err := c.transport.Dial(c.link.Load().carried(ctx))
	if err != nil {
		return err
	}
	l := &link{conn: conn, transport: c.transport}
	l.exchange, _ = conn.(exchanger)
	c.link.Store(l)
	if l.exchange == nil {
		c.own.Go(func() { l.read(c) })
	}
	return nil
}

// hooked reports whether the goroutines of the connection may run code that is
// not ours.
func (l *link) hooked() bool {
	switch conn := l.conn.(type) {
	case *stream, *pipeEnd:
		return false
	case *httpConn:
		return conn.hooks != nil || conn.wrapped()
	}
	return true
}

// doubted adds to the error of a handshake that something answers at the URL, but
// in no words of the protocol, or that it has nothing there, if that is so: a web
// site or another API.
func (l *link) doubted(err error) error {
	status, refused := errors.AsType[*HTTPError](err)
	if l.exchange == nil || !errors.Is(err, ErrInvalidResult) && !(refused && status.nothingThere()) {
		return err
	}
	return fmt.Errorf("%w (is this the URL of an MCP server?)", err)
}

// kill has the end of the connection take no more time.
func (l *link) kill() {
	if s, ok := l.conn.(*stream); ok && s.kill != nil {
		s.kill()
	}
}

// instead adds to the error of a server that gave no answer what it said instead.
func (l *link) instead(err error) error {
	if l == nil {
		return err
	}
	if s, ok := l.conn.(*stream); ok {
		return s.instead(err)
	}
	return err
}

// dead says why the connection ended by itself, nil while it has not.
func (l *link) dead() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return nil
	}
	return closedBy(l.err)
}

// endCalls fails the calls that wait on the connection, and every later one. What
// is told the server still goes out.
func (l *link) endCalls() {
	l.calls.Close(ErrClosed)
	if l.exchange != nil {
		l.exchange.endCalls()
	}
}

// end closes the connection, fails the calls that wait on it, and gives up what
// is being answered.
func (l *link) end() error {
	l.calls.Close(ErrClosed)
	err := l.conn.Close()
	l.abandon(nil)
	return err
}

// read gives every message of the connection to the client until it ends.
func (l *link) read(c *Client) {
	for {
		data, err := l.conn.Recv()
		if err == nil {
			l.receive(c, data, source{})
			continue
		}
		bad, ok := errors.AsType[*MessageError](err)
		if !ok {
			l.died(c, err)
			return
		}
		l.unreadable(c, bad)
	}
}

// died records that the connection ended by itself, and fails its calls.
func (l *link) died(c *Client, err error) {
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	l.calls.Close(c.lost(l, err))
}

// closedBy is the error of a connection that ended for the reason err.
func closedBy(err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

// roundTrip sends a request once and returns the result of its response.
func (l *link) roundTrip(ctx context.Context, c *Client, r *request, o *callOptions) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	c.number(r)
	if c.sending != nil && o.seen == nil {
		return c.through(ctx, r, o, func(ctx context.Context, r *request, o *callOptions) (json.RawMessage, error) {
			return l.roundTrip(ctx, c, r, o)
		})
	}
	e := c.current()
	maxNotes := 0
	if o.progress != nil {
		maxNotes = c.terms().maxNotifications
	}
	call, err := l.start(l.flight(ctx, r), maxNotes, o)
	if err != nil {
		return nil, &unsentError{err}
	}
	defer func() { l.finish(call, ctx.Err() != nil) }()
	sent, response, err := l.send(ctx, c, e, call, r, o)
	switch {
	case err != nil && ctx.Err() != nil:
		if sent && c.ready.Load() && !r.stays && r.method != "initialize" { // "The initialize request MUST NOT be cancelled by clients"
			e.cancel(c, l, call, ended(ctx).Error())
		}
		return nil, ended(ctx)
	case err != nil:
		return nil, err
	case response.Error != nil:
		return nil, rpcError(response.Error, l.scrub)
	}
	return response.Result, nil
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
		m.opensSession, m.heard = r.method == "initialize", r.heard
		return l.converse(ctx, c, call, m, o)
	}
	body := bodies.Get().(*[]byte)
	*body = e.encode((*body)[:0], call.ID, r, o)
	err := l.conn.Send(ctx, *body)
	if cap(*body) <= keptBody {
		bodies.Put(body)
	}
	if err != nil {
		if response, callErr, ok := call.Response(); ok { // it says more
			return true, response, callErr
		}
		_, posted := l.conn.(*sseConn) // whose server may act on a message before it says that it has it
		return posted, jsonrpc.Response{}, err
	}
	response, err := call.Wait(ctx, func(params json.RawMessage) { tellProgress(o.progress, params) })
	return true, response, err
}

// converse makes an exchange and waits for the response to its request. Progress
// may come over the standalone stream while the exchange says nothing: a caller
// who asked for it waits for both.
func (l *link) converse(ctx context.Context, c *Client, call *jsonrpc.Call, m *outgoing, o *callOptions) (sent bool, _ jsonrpc.Response, _ error) {
	if o.progress == nil {
		l.swap(ctx, c, call, m)
		response, err, _ := call.Response()
		return true, response, err
	}
	c.current().heed(ctx, c)
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
		answered = l.receive(c, data, source{call, m.session.Load()})
		return answered
	})
	switch {
	case answered:
		return
	case c.ending():
		err = ErrClosed
	case err == nil:
		err = fmt.Errorf("%w: the response ended without an answer to the request", ErrInvalidResult)
	}
	l.calls.Fail(call.ID, err)
}

// finish forgets a call and ends what is still being answered for it. A server
// request that is only thought to belong to it goes on, unless the caller gave
// the call up.
func (l *link) finish(call *jsonrpc.Call, gaveUp bool) {
	l.calls.Forget(call)
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
	return l.post(ctx, c, jsonrpc.AppendNotification(nil, method, params), nil)
}

// post sends a message that has no response, in a session that it belongs to, nil
// for the one that there is. The error is errSessionOver when it came too late.
func (l *link) post(ctx context.Context, c *Client, body []byte, s *httpSession) error {
	if l.exchange == nil {
		return l.conn.Send(ctx, body)
	}
	m := &outgoing{body: body, header: c.current().header(nil, nil), bound: s != nil}
	m.session.Store(s)
	return l.exchange.post(ctx, m)
}
