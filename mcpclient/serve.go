package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Origin tells a handler where a server's request comes from.
type Origin struct {
	Server Server

	// Call is the client's call in which the server asks, nil when that cannot
	// be known: on a shared connection of the legacy era with several calls
	// under way, or none.
	Call *CallInfo

	ID   json.RawMessage // of the server's request; nil in the modern era
	Meta json.RawMessage // _meta of the server's request
}

// CallInfo describes a call that is under way.
type CallInfo struct {
	Method string // "tools/call"
	Name   string // of the tool or prompt, or the URI of the resource
}

type originKey struct{}

// OriginFrom returns the origin of the request that a handler is answering.
//
// The handler's context has the values of the call's context too. Where the
// server's request may belong to several calls, a value is there when all of
// their contexts agree on it.
func OriginFrom(ctx context.Context) (Origin, bool) {
	o, ok := ctx.Value(originKey{}).(Origin)
	return o, ok
}

// asked is a server request that is being answered.
type asked struct {
	call   *jsonrpc.Call // the call it belongs to, when that is known
	cancel context.CancelFunc
	silent bool // the server cancelled it: it wants no answer
}

// serve answers a server's request on a goroutine of its own.
func (l *link) serve(c *Client, m jsonrpc.Message, from *jsonrpc.Call) {
	if !c.current().answers() {
		c.log.Warn("ignored a request of the server: its revision has none", "method", cut(m.Method))
		return
	}
	if m.Method == "ping" {
		c.tell("answer to ping", func(ctx context.Context) error {
			return l.post(ctx, c, jsonrpc.AppendResult(nil, m.ID, json.RawMessage("{}")))
		})
		return
	}
	select {
	case c.serving <- struct{}{}:
	default:
		c.tell("refusal of "+cut(m.Method), func(ctx context.Context) error {
			busy := &RPCError{Code: CodeInternalError, Message: fmt.Sprintf("busy: %d requests are being answered already", c.opts.MaxServerRequests)}
			return l.post(ctx, c, responseTo(m.ID, nil, busy))
		})
		return
	}
	calls := l.calls.Pending()
	if from != nil {
		calls = []*jsonrpc.Call{from}
	}
	ctx, a := c.ask(calls)
	l.mu.Lock()
	l.asking[string(m.ID)] = a
	l.mu.Unlock()
	c.start(&c.handlers, func() {
		defer func() { <-c.serving }()
		l.answer(ctx, c, m, a)
	})
}

// answer runs the handler and sends what it says.
func (l *link) answer(ctx context.Context, c *Client, m jsonrpc.Message, a *asked) {
	result, err := c.handle(ctx, m.Method, m.Params, m.ID, a.info())
	l.mu.Lock()
	if l.asking[string(m.ID)] == a {
		delete(l.asking, string(m.ID))
	}
	silent := a.silent
	l.mu.Unlock()
	a.cancel()
	if silent || c.ctx.Err() != nil {
		return
	}
	if err != nil {
		c.log.Debug("server request failed", "method", cut(m.Method), "error", err)
	}
	ctx, cancel := context.WithTimeout(c.ctx, tellTimeout)
	defer cancel()
	if err := l.post(ctx, c, responseTo(m.ID, result, err)); err != nil && c.ctx.Err() == nil {
		c.log.Warn("answer to the server lost", "method", cut(m.Method), "error", err)
	}
}

// cancelled ends the handler of a request that the server gave up.
func (l *link) cancelled(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return // "invalid cancellation notifications SHOULD be ignored"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.asking[string(p.RequestID)]; ok {
		a.silent = true
		a.cancel()
	}
}

// ask prepares the context of a handler for a request that belongs to one of
// calls. It ends with that call, where there is only one, and with the client.
func (c *Client) ask(calls []*jsonrpc.Call) (context.Context, *asked) {
	a := &asked{}
	parent := context.Context(&sharedValues{Context: context.Background(), calls: calls})
	if len(calls) == 1 {
		a.call = calls[0]
		parent = calls[0].Value.(*inFlight).ctx
	}
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(c.ctx, cancel)
	a.cancel = func() { stop(); cancel() }
	return ctx, a
}

func (a *asked) info() *CallInfo {
	if a.call == nil {
		return nil
	}
	info := a.call.Value.(*inFlight).info
	return &info
}

// sharedValues is a context with the values on which the contexts of several
// calls agree.
type sharedValues struct {
	context.Context
	calls []*jsonrpc.Call
}

func (s *sharedValues) Value(key any) any {
	var shared any
	for i, call := range s.calls {
		v := call.Value.(*inFlight).ctx.Value(key)
		if i > 0 && !same(v, shared) {
			return nil
		}
		shared = v
	}
	return shared
}

// same reports whether a and b are equal; values that cannot be compared differ.
func same(a, b any) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = false
		}
	}()
	return a == b
}

// handle answers one question of the server. Both eras come here: id is nil in
// the modern one. A panic of a handler becomes an error.
func (c *Client) handle(ctx context.Context, method string, params, id json.RawMessage, call *CallInfo) (result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", "method", cut(method), "panic", p, "stack", string(debug.Stack()))
			err = &RPCError{Code: CodeInternalError, Message: "the handler panicked"}
		}
	}()
	var meta struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &meta); err != nil {
			return nil, &RPCError{Code: CodeInvalidParams, Message: "params: " + err.Error()}
		}
	}
	ctx = context.WithValue(ctx, originKey{}, Origin{Server: c.knownServer(), Call: call, ID: id, Meta: meta.Meta})
	switch method {
	case "sampling/createMessage":
		return c.createMessage(ctx, params)
	case "elicitation/create":
		return c.elicit(ctx, params)
	case "roots/list":
		return c.listRoots()
	}
	return nil, &RPCError{Code: CodeMethodNotFound, Message: fmt.Sprintf("method %q is not available", cut(method))}
}

// knownServer is what is known of the server, also before the handshake is done.
func (c *Client) knownServer() Server {
	if s := c.server.Load(); s != nil {
		return *s
	}
	return Server{}
}

// responseTo makes the response that carries result, or err in its wire form.
func responseTo(id json.RawMessage, result json.RawMessage, err error) []byte {
	if err == nil {
		return jsonrpc.AppendResult(nil, id, result)
	}
	e := new(RPCError)
	switch {
	case errors.As(err, &e):
	case errors.Is(err, ErrRejected):
		e.Code, e.Message = CodeUserRejected, cut(err.Error())
	default:
		e.Code, e.Message = CodeInternalError, cut(err.Error())
	}
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

// gather answers several questions at once and returns the answers by key.
func (c *Client) gather(ctx context.Context, questions map[string]inputRequest, call CallInfo) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()
	answers := make(map[string]json.RawMessage, len(questions))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for key, q := range questions {
		wg.Go(func() {
			answer, err := c.handle(ctx, q.Method, q.Params, nil, &call)
			if err != nil {
				cancel(fmt.Errorf("%s of the server: %w", cut(q.Method), err))
				return
			}
			mu.Lock()
			answers[key] = answer
			mu.Unlock()
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return answers, nil
}
