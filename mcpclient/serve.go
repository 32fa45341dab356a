package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const (
	answerTimeout = 30 * time.Second // bounds the sending of a handler's answer
	maxServerID   = 1 << 10          // bytes of the id of a server's request
)

// serve answers a server's request: at once where no handler is needed, or else on a
// goroutine of its own.
func (l *link) serve(c *Client, m jsonrpc.Message, from source) {
	known := c.current().answers()
	switch {
	case from.session != nil && from.session.Over():
		c.log.Debug("ignored a request of the server: its session has ended", "method", l.cut(m.Method))
	case len(m.ID) > maxServerID:
		l.tolerated(c, "ignored a request of the server: its id is too long", "method", l.cut(m.Method), "bytes", len(m.ID))
	case !known && l.exchange != nil:
		l.tolerated(c, "ignored a request of the server: its revision has none, and no way to answer them", "method", l.cut(m.Method))
	case m.Method == "ping":
		if !known {
			l.tolerated(c, "answered a ping of the server: its revision has none")
		}
		c.tell(told{link: l, session: from.session, what: "answer to ping", body: jsonrpc.AppendResult(nil, m.ID, json.RawMessage("{}"))})
	case !known:
		l.tolerated(c, "refused a request of the server: its revision has none", "method", l.cut(m.Method))
		l.refuse(c, m, from, refuse(mcp.CodeMethodNotFound, noRequests+": it asks by the result input_required"))
	default:
		l.handled(c, m, from)
	}
}

// refuse answers a server's request with an error that no handler gave.
func (l *link) refuse(c *Client, m jsonrpc.Message, from source, err error) {
	c.tell(told{link: l, session: from.session, what: "refusal of " + l.cut(m.Method), body: responseTo(m.ID, nil, err)})
}

// handled has a handler answer a server's request, unless too many run or one
// answers a request with that id.
func (l *link) handled(c *Client, m jsonrpc.Message, from source) {
	limit := c.opts.Limits.ServerRequests
	if !c.serving.take(limit) {
		l.refuse(c, m, from, refuse(mcp.CodeInternalError, "busy: %d requests are being answered already", limit))
		return
	}
	ctx, a := c.ask(l, from.call)
	a.id = askedID{from.session, string(m.ID)}
	if !l.take(a) {
		a.cancel()
		c.serving.leave()
		l.refuse(c, m, from, refuse(mcp.CodeInvalidRequest, "a request with this id is being answered already"))
		return
	}
	if !c.life.startHost(func() { l.answer(ctx, c, m, a) }) {
		a.cancel()
		c.serving.leave()
	}
}

// take remembers a server request, unless one with its id is there.
func (l *link) take(a *asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asking[a.id] != nil {
		return false
	}
	if l.asking == nil {
		l.asking = map[askedID]*asked{}
	}
	l.asking[a.id] = a
	if a.call != nil {
		a.call.Value.(*inFlight).asked.Store(true)
	}
	return true
}

// answer runs the handler and sends what it says.
func (l *link) answer(ctx context.Context, c *Client, m jsonrpc.Message, a *asked) {
	defer c.serving.leave()
	result, err := c.handle(ctx, m.Method, m.Params, m.ID, a.info())
	if err == nil {
		result = aboutTask(result, m.Params)
	}
	l.mu.Lock()
	if l.asking[a.id] == a {
		delete(l.asking, a.id)
	}
	silent := a.silent
	l.mu.Unlock()
	a.cancel()
	if silent || c.life.isClosed() {
		return
	}
	switch {
	case err == nil:
	case wireError(err).Code == mcp.CodeInternalError: // the server learns no more than that
		l.failed(ctx, c, "server request failed", "method", l.cut(m.Method), "error", c.scrubbed(err))
	default:
		c.log.DebugContext(ctx, "server request failed", "method", l.cut(m.Method), "error", c.scrubbed(err))
	}
	ctx, cancel := context.WithTimeout(c.life.ctx, answerTimeout)
	defer cancel()
	switch err := l.reply(ctx, c, responseTo(m.ID, result, err), a.id.session); {
	case err == nil || c.life.isClosed() || errors.Is(err, ErrClosed):
	case errors.Is(err, transport.ErrSessionOver):
		c.log.DebugContext(ctx, "answer to the server dropped", "method", l.cut(m.Method), "because", err)
	default:
		l.failed(ctx, c, "answer to the server lost", "method", l.cut(m.Method), "error", err)
	}
}

// givenUp reads a notice that the server gave up a request; a reason that is no
// text counts as none. "Invalid cancellation notifications SHOULD be ignored."
func (l *link) givenUp(params json.RawMessage) (id json.RawMessage, reason string) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    json.RawMessage `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, ""
	}
	reason, _ = jsonrpc.String(p.Reason)
	return p.RequestID, l.cut(reason)
}

// cancelled ends the handler of a request that the server gave up.
func (l *link) cancelled(c *Client, s transport.Session, params json.RawMessage) {
	id, reason := l.givenUp(params)
	l.mu.Lock()
	a, ok := l.asking[askedID{s, string(id)}]
	if ok {
		a.silent = true
		a.cancel()
		delete(l.asking, a.id)
	}
	l.mu.Unlock()
	if ok {
		c.log.Debug("the server gave up a request", "id", l.quote(id), "reason", reason)
	}
}

// refusal is an answer that no handler gave: the server asked for what it may
// not have, or in a way that is not allowed.
type refusal struct {
	*mcp.RPCError
	hint string // for the host, behind the message; "" for none
}

func (r *refusal) Error() string { return r.RPCError.Error() + r.hint }
func (r *refusal) Unwrap() error { return r.RPCError }

func refuse(code int, format string, args ...any) error {
	return &refusal{&mcp.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}, ""}
}

// uninstalled refuses what the host has installed no handler for.
func uninstalled(message, option string) error {
	return &refusal{&mcp.RPCError{Code: mcp.CodeMethodNotFound, Message: message}, " (" + option + " is not set)"}
}

// errPanicked is the answer of a handler that panicked.
var errPanicked error = panickedError{}

type panickedError struct{}

func (panickedError) Error() string { return "the handler panicked" }

// RPCError is what the server gets.
func (e panickedError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: e.Error()}
}

// handle answers one question of the server. Both eras come here: id is nil in
// the modern one. A panic of a handler becomes an error.
func (c *Client) handle(ctx context.Context, method string, params, id json.RawMessage, call *mcp.CallInfo) (result json.RawMessage, err error) {
	defer c.caught(method, errPanicked, &err)
	var meta struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &meta); err != nil {
			return nil, refuse(mcp.CodeInvalidParams, "params: %v", err)
		}
	}
	ctx = context.WithValue(ctx, servingKey{c}, true)
	ctx = mcp.WithOrigin(ctx, mcp.Origin{Session: c, Server: c.knownServer(), Call: call, ID: id, Meta: meta.Meta})
	if c.answering == nil && c.opts.Handlers[method] == nil {
		return c.answerBy(ctx, &Request{Method: method, Params: params})
	}
	q, err := c.asked(method, params, meta.Meta, call)
	switch {
	case err != nil:
		return nil, err
	case c.answering == nil:
		return c.answerBy(ctx, q)
	}
	return c.throughServer(ctx, q)
}

// answerBy has the handler for a method answer.
func (c *Client) answerBy(ctx context.Context, q *Request) (json.RawMessage, error) {
	method, params := q.Method, q.Params
	if h := c.opts.Handlers[method]; h != nil {
		result, err := h(ctx, q)
		if err != nil {
			return nil, err
		}
		return madeResult("handler of "+strconv.Quote(method), result)
	}
	switch method {
	case "sampling/createMessage":
		return c.createMessage(ctx, params)
	case "elicitation/create":
		return c.elicit(ctx, params)
	case rootsMethod:
		return c.listRoots()
	}
	return nil, refuse(mcp.CodeMethodNotFound, "method %q is not available", excerpt.Cut(method))
}

// knownServer is what is known of the server, also before the handshake is done.
func (c *Client) knownServer() mcp.Server {
	if s := c.server.Load(); s != nil {
		return *s
	}
	return mcp.Server{}
}

// wireError is what the server that asked is told of an error: what was made for
// it, and of anything else only that there was one. What is wrapped was made for
// somebody else: an answer of another server, say, with what that told us.
func wireError(err error) (e *mcp.RPCError) {
	switch made := err.(type) { // and no errors.As
	case *mcp.RPCError:
		e = made
	case *refusal:
		e = made.RPCError
	case interface{ RPCError() *mcp.RPCError }:
		e = made.RPCError()
	}
	switch {
	case e != nil:
		return e
	case errors.Is(err, mcp.ErrRejected):
		return &mcp.RPCError{Code: mcp.CodeUserRejected, Message: "rejected by the user"}
	}
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "internal error"}
}

// responseTo makes the response that carries result, or err in its wire form.
func responseTo(id json.RawMessage, result json.RawMessage, err error) []byte {
	if err == nil {
		return jsonrpc.AppendResult(nil, id, result)
	}
	e := wireError(err)
	wire := *e
	if len(wire.Data) > 0 && !json.Valid(wire.Data) {
		wire.Data = nil
	}
	raw, err := jsonrpc.Marshal(&wire)
	if err != nil {
		raw = json.RawMessage(`{"code":-32603,"message":"internal error"}`)
	}
	return jsonrpc.AppendError(nil, id, raw)
}

// reply is the answer to one question of an input round.
type reply struct {
	key    string
	answer json.RawMessage
	err    error
}

// gather answers several questions at once and returns the answers by key. The
// first failure ends it; handlers that go on then are the client's to wait for.
func (c *Client) gather(ctx context.Context, questions map[string]mcp.InputRequest, call mcp.CallInfo) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life.ctx, func() { cancel(ErrClosed) })()
	defer idle.From(ctx).Hold()()
	replies := make(chan reply, len(questions))
	for key, q := range questions {
		if err := c.question(ctx, key, q, &call, replies); err != nil {
			return nil, err
		}
	}
	answers := make(map[string]json.RawMessage, len(questions))
	for range questions {
		select {
		case r := <-replies:
			switch {
			case r.err == nil:
				answers[r.key] = r.answer
			case ctx.Err() != nil:
				return nil, gathering(ctx)
			default:
				return nil, abandoned(questions[r.key].Method, r.err)
			}
		case <-ctx.Done():
			return nil, gathering(ctx)
		}
	}
	return answers, nil
}

// servingKey marks the context of this client's handlers, those of other clients
// that they call included.
type servingKey struct{ c *Client }

// question has a handler answer one question. A handler whose own call led to
// it has its place among those that run at the same time already.
func (c *Client) question(ctx context.Context, key string, q mcp.InputRequest, call *mcp.CallInfo, replies chan<- reply) error {
	nested := ctx.Value(servingKey{c}) != nil
	if !nested {
		if !c.serving.wait(ctx, c.opts.Limits.ServerRequests) {
			return gathering(ctx)
		}
	}
	leave := func() {
		if !nested {
			c.serving.leave()
		}
	}
	started := c.life.startHost(func() {
		defer leave()
		answer, err := c.handle(ctx, q.Method, q.Params, nil, call)
		replies <- reply{key, answer, err}
	})
	if !started {
		leave()
		return ErrClosed
	}
	return nil
}

// gathering is the error of a round whose context ended.
func gathering(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return ended(ctx)
}

// abandoned is the error of a call whose question has no answer: "no error
// encoding exists". What the handler met is not what became of the call: another
// connection that is closed, a deadline of its own. Only a rejection can be told
// from the error.
func abandoned(method string, err error) error {
	question := cmp.Or(excerpt.Cut(method), "a question")
	var r *refusal
	switch {
	case errors.As(err, &r):
		return fmt.Errorf("%w: %s of the server: %s%s", mcp.ErrInvalidResult, question, r.Message, r.hint)
	case errors.Is(err, mcp.ErrRejected):
		return fmt.Errorf("%s of the server: %w", question, &rejected{err})
	}
	return fmt.Errorf("%s of the server: %v", question, err)
}

// rejected is the error of a handler of which only the rejection is told apart.
type rejected struct{ err error }

func (r *rejected) Error() string        { return r.err.Error() }
func (r *rejected) Is(target error) bool { return target == mcp.ErrRejected }

// slots are places for what runs at the same time.
type slots struct {
	mu    sync.Mutex
	taken chan struct{} // nil before the first
}

// of returns the places, of which there are so many.
func (s *slots) of(places int) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = make(chan struct{}, places)
	}
	return s.taken
}

// take takes a place, if there is one.
func (s *slots) take(places int) bool {
	select {
	case s.of(places) <- struct{}{}:
		return true
	default:
		return false
	}
}

// wait takes a place, unless ctx ends before there is one.
func (s *slots) wait(ctx context.Context, places int) bool {
	select {
	case s.of(places) <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave gives a place back.
func (s *slots) leave() { <-s.of(0) }
