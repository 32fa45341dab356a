package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Middleware goes around requests: those that the client makes when it is in
// [Options.Middleware], those that the server makes when it is in
// [Options.ServerMiddleware]. It is called once for each client, by Connect, and
// returns what stands in the place of next:
//
//	func logged(next mcpclient.Handler) mcpclient.Handler {
//		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
//			start := time.Now()
//			result, err := next(ctx, r)
//			slog.InfoContext(ctx, r.Method, "name", r.Name, "took", time.Since(start), "error", err)
//			return result, err
//		}
//	}
//
// It may hand on another context, change what [Request] says can be changed,
// answer without next, change the answer, and call next again, one call after
// the other. To repeat a request that may have acted, as a tools/call, is its own
// responsibility: the client by itself never does.
type Middleware func(next Handler) Handler

// Handler answers a request by its result, a JSON object. Those of one client run
// concurrently, each on the goroutine of its request: the caller's, or one of the
// client's own where it begins a new session, keeps a subscription or answers the
// server. A panic is the request's error; the log has its stack.
//
// A result is not to be changed, and to be copied if it is kept. A nil one
// answers a notification.
type Handler func(ctx context.Context, r *Request) (json.RawMessage, error)

// Request is what a [Middleware] sees: either what the client is about to send, or
// what the server asks.
//
// What the client sends is seen once for each call, in either era: input rounds,
// repetitions after failures that pass, corrected headers and the wait for a new
// session all happen within next. That includes initialize, server/discover, what
// tasks and subscriptions ask, and the notifications of [Client.Notify],
// [Client.SetRoots] and the handshake; subscriptions/listen lasts as long as its
// stream. Not seen are requests that are not sent, because the server does not
// offer what they need or the answer is in the cache, and messages that end or
// answer others: notices of cancellation, the tasks/cancel of a call [WithTask] that
// ended before its task, the answers to the server's requests.
// Nor are the pings of [Timeouts.KeepAlive].
//
// What the server asks is seen once for each question that handlers answer: a
// request of the legacy era, or an entry of a modern input round. [mcp.OriginFrom]
// tells where it comes from.
//
// A Request is of use until the outermost Middleware returns, to one goroutine.
// A Middleware may hand on a copy.
type Request struct {
	// Client sends the request or was asked. Before it is connected what it
	// knows of its server is the zero value.
	Client *Client

	Method string
	Name   string // of the tool or prompt, the URI of the resource, or the id of the task
	Call   int64  // the call that it belongs to: [mcp.CallInfo.ID]; 0 when that is not known

	// Notification says that there is no answer.
	Notification bool

	// Params may be replaced by another JSON object; what it points to is not to
	// be changed. Nil when there are none. The client's own are without _meta,
	// the server's are as they came.
	Params json.RawMessage

	// Meta is _meta. Entries may be added, changed and removed in what the client
	// sends, except those of the protocol itself ([WithMeta]), which are not in
	// it. It is never nil there.
	Meta map[string]json.RawMessage

	*invocation
}

// invocation is what the copies of a Request have in common.
type invocation struct {
	do Handler // what the innermost handler does
	id int64
}

// ID is the id of the message by which the client sent the request last; 0 before
// that, and for what the server asks, whose id is in its [mcp.Origin].
func (r *Request) ID() int64 {
	if r.invocation == nil {
		return 0
	}
	return r.id
}

// compose puts middleware around the innermost handler. The first is outermost.
func compose(option string, all []Middleware, innermost Handler) (Handler, error) {
	if len(all) == 0 {
		return nil, nil
	}
	h := innermost
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] == nil {
			return nil, fmt.Errorf("%s[%d] is nil", option, i)
		}
		if h = all[i](h); h == nil {
			return nil, fmt.Errorf("%s[%d] returned nil", option, i)
		}
	}
	return h, nil
}

func innermost(ctx context.Context, r *Request) (json.RawMessage, error) {
	if r.invocation == nil {
		return nil, errors.New("middleware: its request is neither the one it got nor a copy")
	}
	return r.do(ctx, r)
}

// withMiddleware sends a request by way of Options.Middleware, which sees it once.
func withMiddleware(next sender, c invoker, chain Handler) sender {
	if chain == nil {
		return next
	}
	return func(ctx context.Context, r *request, o *callOptions) (got response, err error) {
		c.number(r)
		defer c.caught(r.method, errMiddlewarePanicked, &err)
		q := c.invocation(r, o)
		given := q.Params
		q.do = func(ctx context.Context, q *Request) (json.RawMessage, error) {
			r, o, err := q.changed(r, o, given) // copies, as the middleware may send it more than once
			if err != nil {
				return nil, err
			}
			got, err = next(ctx, r, o)
			return got.result, c.scrubbed(err)
		}
		raw, err := chain(ctx, q)
		if err != nil {
			return response{}, err
		}
		got.result, err = middlewareResult(raw, got.result)
		return got, err
	}
}

// invoker is what middleware needs of its client.
type invoker interface {
	number(r *request)
	invocation(r *request, o *callOptions) *Request
	scrubbed(err error) error
	caught(method string, as error, err *error)
}

// invocation is a request as middleware sees it.
func (c *Client) invocation(r *request, o *callOptions) *Request {
	q := &Request{Client: c, Method: r.method, Name: r.target, Call: r.call.ID, Params: r.whole(), Meta: map[string]json.RawMessage{}, invocation: new(invocation)}
	maps.Copy(q.Meta, o.meta)
	return q
}

// changed is the request that q is about, with what middleware changed. given are the
// params that it was given.
func (q *Request) changed(r *request, o *callOptions, given json.RawMessage) (*request, *callOptions, error) {
	changed, options := *r, *o
	options.sentAs = &q.invocation.id
	var err error
	if options.meta, err = checkMeta("middleware", q.Meta); err != nil {
		return nil, nil, err
	}
	if sameBytes(given, q.Params) {
		return &changed, &options, nil
	}
	params, meta, err := customRequest(r.method, q.Params)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("middleware: params: %w", err)
	case meta != nil:
		return nil, nil, errors.New("middleware: params: _meta goes into Request.Meta")
	}
	changed.target, changed.params, changed.answers = params.target, params.params, params.answers
	return &changed, &options, nil
}

// throughNotify sends a notification by way of Options.Middleware.
func (c *Client) throughNotify(ctx context.Context, l *link, method string, params []byte) (err error) {
	defer c.caught(method, errMiddlewarePanicked, &err)
	r, meta, err := customRequest(method, json.RawMessage(params))
	if err != nil {
		return err
	}
	o := new(callOptions)
	for _, opt := range meta {
		opt(o)
	}
	q := &Request{Client: c, Method: method, Notification: true, Params: r.whole(), Meta: map[string]json.RawMessage{}, invocation: new(invocation)}
	maps.Copy(q.Meta, o.meta)
	q.do = func(ctx context.Context, q *Request) (json.RawMessage, error) {
		params, err := jsonrpc.EncodeParams(q.Params)
		if err != nil {
			return nil, fmt.Errorf("middleware: params: %w", err)
		}
		if len(q.Meta) > 0 {
			meta, err := jsonrpc.Marshal(q.Meta)
			if err != nil {
				return nil, fmt.Errorf("middleware: _meta: %w", err)
			}
			params = jsonrpc.CloseObject(jsonrpc.AppendMember(jsonrpc.AppendMembers([]byte{'{'}, params), "_meta", meta))
		}
		return nil, l.postNotification(ctx, method, params)
	}
	_, err = c.sending(ctx, q)
	return err
}

// asked is a question of the server, as handlers and middleware see it.
func (c *Client) asked(method string, params, meta json.RawMessage, call *mcp.CallInfo) (*Request, error) {
	q := &Request{Client: c, Method: method, Params: params, invocation: new(invocation)}
	if call != nil {
		q.Call = call.ID
	}
	if len(meta) > 0 && meta[0] == '{' { // handlers get anything else raw in Origin.Meta
		var err error
		if q.Meta, err = jsonrpc.Object(meta, jsonrpc.MaxElements); err != nil {
			return nil, refuse(mcp.CodeInvalidParams, "_meta: %v", err)
		}
	}
	return q, nil
}

// throughServer answers a question of the server by way of
// Options.ServerMiddleware.
func (c *Client) throughServer(ctx context.Context, q *Request) (json.RawMessage, error) {
	method := q.Method // whatever middleware says that it is
	var got json.RawMessage
	q.do = func(ctx context.Context, q *Request) (_ json.RawMessage, err error) {
		defer c.caught(method, errPanicked, &err) // so that middleware sees it as an error
		same := *q
		same.Method = method
		got, err = c.answerBy(ctx, &same)
		return got, err
	}
	raw, err := c.answering(ctx, q)
	if err != nil {
		return nil, err
	}
	return middlewareResult(raw, got)
}

// middlewareResult is the result that the outermost middleware returned. It is
// checked unless it is the one that middleware got.
func middlewareResult(raw, got json.RawMessage) (json.RawMessage, error) {
	if len(raw) > 0 && sameBytes(raw, got) {
		return raw, nil
	}
	return madeResult("middleware", raw)
}

// madeResult is a result that code of the host has made.
func madeResult(by string, raw json.RawMessage) (json.RawMessage, error) {
	made, err := jsonrpc.EncodeParams(raw)
	if err == nil && made == nil {
		err = errors.New("want a JSON object, got nothing")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", mcp.ErrInvalidResult, by, err)
	}
	return made, nil
}

// sameBytes reports whether a and b are the same memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// whole is the params of a request with the answers to an input round.
func (r *request) whole() json.RawMessage {
	if len(r.answers) == 0 {
		return r.params
	}
	return jsonrpc.CloseObject(append(jsonrpc.AppendMembers([]byte{'{'}, r.params), r.answers...))
}

// checkMeta checks and compacts entries of _meta. who is to blame for them.
func checkMeta(who string, meta map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(meta) == 0 {
		return nil, nil
	}
	checked := make(map[string]json.RawMessage, len(meta))
	for key, value := range meta {
		if key == "progressToken" || reservedKey(key) {
			return nil, fmt.Errorf("%s: %q belongs to the protocol", who, key)
		}
		if _, err := checkKey(key); err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", who, excerpt.Cut(key), err)
		}
		compact, err := jsonrpc.Compact(value)
		if err != nil {
			return nil, fmt.Errorf("%s: value of %q: %w", who, key, err)
		}
		checked[key] = compact
	}
	return checked, nil
}

var errMiddlewarePanicked = errors.New("the middleware panicked; the log has its stack")

// caught, deferred, turns the panic of what others installed into an error.
func (c *Client) caught(method string, as error, err *error) {
	if p := recover(); p != nil {
		c.log.Error(as.Error(), "method", excerpt.Cut(method), "panic", p, "stack", string(debug.Stack()))
		*err = as
	}
}
