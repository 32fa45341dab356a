package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// link is one dialed connection and the calls that wait on it.
type link struct {
	conn     Conn
	exchange exchanger // conn, when every request has a response channel of its own
	calls    jsonrpc.Calls

	mu     sync.Mutex
	asking map[string]*asked // server requests being answered, by id
	err    error             // why the connection ended by itself
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
	// ctx ends or the server has none.
	listen(ctx context.Context, header http.Header, deliver func([]byte)) error

	endSession(ctx context.Context, header http.Header)
	sessionID() string
}

// outgoing is a message on its way to an exchanger.
type outgoing struct {
	body         []byte
	header       http.Header
	opensSession bool // the response may name a session
}

// dial opens the connection and starts to read it.
func (c *Client) dial(ctx context.Context) error {
	conn, err := c.transport.Dial(ctx)
	if err != nil {
		return err
	}
	l := &link{conn: conn, asking: map[string]*asked{}}
	l.exchange, _ = conn.(exchanger)
	c.link.Store(l)
	if l.exchange == nil {
		c.own.Go(func() { l.read(c) })
	}
	return nil
}

// dead says why the connection ended by itself, nil while it has not.
func (l *link) dead() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// end closes the connection and fails what waits on it.
func (l *link) end(err error) {
	l.calls.Close(err)
	_ = l.conn.Close()
}

// read gives every message of the connection to the client until it ends.
func (l *link) read(c *Client) {
	for {
		data, err := l.conn.Recv()
		var bad *MessageError
		switch {
		case err == nil:
			l.receive(c, data, nil)
		case errors.As(err, &bad):
			l.unreadable(c, bad)
		default:
			if errors.Is(err, io.EOF) {
				err = errors.New("the server closed the connection")
			}
			err = fmt.Errorf("%w: %w", ErrClosed, err)
			l.calls.Close(err)
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			c.lost(l, err)
			return
		}
	}
}

// unreadable fails the call that a message was meant for, when that can be told.
func (l *link) unreadable(c *Client, bad *MessageError) {
	c.log.Warn("unreadable message from the server", "error", bad.Err)
	if raw, ok := jsonrpc.FindID(bad.Prefix); ok {
		m := jsonrpc.Message{ID: raw}
		if id, _, ok := m.IntID(); ok && l.calls.Fail(id, bad.Err) {
			return
		}
	}
	if pending := l.calls.Pending(); len(pending) == 1 {
		l.calls.Fail(pending[0].ID, bad.Err)
	}
}

// maxBatch bounds the messages of one batch.
const maxBatch = 1000

// receive takes one message apart and brings it to where it belongs. from is
// the call in whose response it came, nil on a shared connection. It reports
// whether from has its response.
func (l *link) receive(c *Client, data []byte, from *jsonrpc.Call) (satisfied bool) {
	m, err := jsonrpc.Parse(data)
	if errors.Is(err, jsonrpc.ErrBatch) {
		batch, err := jsonrpc.Batch(data, maxBatch)
		if err != nil {
			l.unreadable(c, &MessageError{Prefix: data, Err: fmt.Errorf("%w: %v", ErrInvalidResult, err)})
			return false
		}
		for _, data := range batch {
			if len(data) > 0 && data[0] == '{' && l.receive(c, data, from) {
				satisfied = true
			}
		}
		return satisfied
	}
	if err != nil {
		err = fmt.Errorf("%w: message of the server: %v: %s", ErrInvalidResult, err, quote(data))
		if from != nil {
			return l.calls.Fail(from.ID, err)
		}
		l.unreadable(c, &MessageError{Prefix: data, Err: err})
		return false
	}
	switch {
	case m.IsResponse():
		return l.respond(c, m, from)
	case m.IsRequest():
		l.serve(c, m, from)
	default:
		l.notified(c, m, from)
	}
	return false
}

// respond brings a response to its call.
func (l *link) respond(c *Client, m jsonrpc.Message, from *jsonrpc.Call) bool {
	if !m.HasID() {
		if from != nil { // an error without id belongs to the exchange it came in
			return l.calls.Resolve(from.ID, m)
		}
		c.log.Warn("error of the server that belongs to no request", "error", quote(m.Error))
		return false
	}
	id, quoted, ok := m.IntID()
	if quoted {
		c.log.Warn("the server turned the number of an id into a string", "id", string(m.ID))
	}
	if from != nil && id != from.ID {
		c.log.Warn("response with the id of another request", "id", quote(m.ID), "want", from.ID)
		return false
	}
	if !ok || !l.calls.Resolve(id, m) {
		c.log.Debug("response that nobody waits for", "id", quote(m.ID))
		return false
	}
	return true
}

// notified brings a notification to the call it speaks of and to the observer.
func (l *link) notified(c *Client, m jsonrpc.Message, from *jsonrpc.Call) {
	switch m.Method {
	case "notifications/progress":
		l.progressed(m.Params)
	case "notifications/cancelled":
		l.cancelled(m.Params)
	}
	c.notices.add(c, &Notification{Method: m.Method, Params: m.Params})
}

// roundTrip sends a request once and returns the result of its response.
func (l *link) roundTrip(ctx context.Context, c *Client, r *request, o *callOptions) (json.RawMessage, error) {
	era := c.current()
	maxNotes := 0
	if o.progress != nil {
		maxNotes = c.opts.MaxNotifications
	}
	flight := &inFlight{ctx: ctx, info: CallInfo{Method: r.method, Name: r.target}}
	call, err := l.calls.Start(flight, maxNotes)
	if err != nil {
		return nil, err
	}
	defer l.finish(call)
	out := &outgoing{body: era.encode(c, call.ID, r, o), opensSession: r.method == "initialize"}
	if l.exchange != nil {
		out.header = era.header(r)
	}
	m, err := l.send(ctx, c, call, out, o)
	if err != nil {
		if ctx.Err() != nil {
			if c.ready.Load() { // "The initialize request MUST NOT be cancelled by clients"
				era.cancel(c, l, call.ID, ended(ctx).Error())
			}
			return nil, ended(ctx)
		}
		return nil, err
	}
	if m.Error != nil {
		return nil, rpcError(m.Error)
	}
	return m.Result, nil
}

// send hands a request to the connection and waits for its response.
func (l *link) send(ctx context.Context, c *Client, call *jsonrpc.Call, m *outgoing, o *callOptions) (jsonrpc.Message, error) {
	note := func(params json.RawMessage) { tellProgress(o.progress, params) }
	if l.exchange == nil {
		if err := l.conn.Send(ctx, m.body); err != nil {
			return jsonrpc.Message{}, err
		}
		return call.Wait(ctx, note)
	}
	err := l.exchange.roundTrip(ctx, m, func(data []byte) bool {
		satisfied := l.receive(c, data, call)
		call.Notes(note)
		return satisfied
	})
	call.Notes(note)
	if response, callErr, ok := call.Response(); ok {
		return response, callErr
	}
	if err == nil {
		err = fmt.Errorf("%w: the response ended without an answer to the request", ErrInvalidResult)
	}
	return jsonrpc.Message{}, err
}

// finish forgets a call and ends what its server requests still run.
func (l *link) finish(call *jsonrpc.Call) {
	l.calls.Forget(call)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.asking {
		if a.call == call {
			a.cancel()
		}
	}
}

// notify sends a notification.
func (l *link) notify(ctx context.Context, c *Client, method string, params []byte) error {
	body := jsonrpc.AppendNotification(nil, method, params)
	return l.post(ctx, c, body)
}

// post sends a message that has no response.
func (l *link) post(ctx context.Context, c *Client, body []byte) error {
	if l.exchange == nil {
		return l.conn.Send(ctx, body)
	}
	return l.exchange.post(ctx, &outgoing{body: body, header: c.current().header(nil)})
}

// rpcError reads the error of a response.
func rpcError(raw json.RawMessage) error {
	e := new(RPCError)
	if err := json.Unmarshal(raw, e); err != nil {
		return fmt.Errorf("%w: error object: %v: %s", ErrInvalidResult, err, quote(raw))
	}
	return e
}
