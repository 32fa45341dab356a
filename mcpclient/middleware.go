package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Middleware wraps requests: the client's in [Options.Middleware], the server's
// in [Options.ServerMiddleware]. Connect calls it once for each client. It
// returns the handler that replaces next:
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
// It may pass on another context, change the fields that [Request] allows, answer without next,
// change the answer, and call next again, one call after the other. Repeating a request that may
// have acted, such as tools/call, is its own responsibility: the client itself never does.
type Middleware func(next Handler) Handler

// Handler answers a request with a result, a JSON object. The handlers of one client run
// concurrently, each on the goroutine of its request: the caller's, or the client's own for a
// new session, a subscription or an answer to the server. A panic becomes the error of the
// request; its stack is logged.
//
// Do not modify a result; copy it to keep it. The result of a notification, whose Method begins with notifications/, is nil.
type Handler func(ctx context.Context, r *Request) (json.RawMessage, error)

// Request is a request for a [Middleware]: either the client's or the server's.
//
// Middleware sees each call of the client once, in either era: input rounds, retries after
// temporary failures, corrected headers and the wait for a new session happen within next. It also
// sees initialize, server/discover, requests of tasks and subscriptions, and the notifications of
// [Client.Notify], [Client.SetRoots] and the handshake; subscriptions/listen lasts as long as its
// stream. It does not see requests that are not sent, because the server lacks the capability or
// the answer is in the cache. It does not see messages that end or answer others: notices of
// cancellation, the tasks/cancel of a call [WithTask] that ended before its task, the answers to
// the server's requests. And it does not see pings of the client itself: of [Timeouts.KeepAlive], and
// one that tells a server without a standalone stream from a lost session.
//
// Server middleware sees each question for a handler once: a request of the legacy era, or an
// entry of a modern input round. [mcp.OriginFrom] tells its origin.
//
// A Request is valid until the outermost Middleware returns, for one goroutine. A Middleware
// may pass on a copy.
type Request struct {
	// Client sends or answers the request. Before it is connected, its Server is zero.
	Client *Client

	Method string
	Name   string // the tool or prompt, URI of the resource, or id of the task

	// Params may be replaced by another JSON object, but not modified in place. It is nil
	// without params. The client's params have no _meta; the server's are unchanged.
	Params json.RawMessage

	// Meta is _meta. In the client's requests it is never nil, and entries may be added,
	// changed and removed. It does not contain the protocol's own entries ([WithMeta]).
	Meta map[string]json.RawMessage

	*invocation
}

// invocation is the state that a Request and its copies share.
type invocation struct {
	do Handler // the innermost handler
	id int64   // see ID
}

// ID returns the id of the client's latest message for this request. It is 0 before that, and
// for a server's request, whose id is in its [mcp.Origin].
func (q *Request) ID() int64 {
	if q.invocation == nil {
		return 0
	}
	return q.id
}

// compose wraps the innermost handler in middleware, the first outermost. It returns nil if there
// is none. option names the field of Options in errors.
func compose(option string, all []Middleware) (Handler, error) {
	if len(all) == 0 {
		return nil, nil
	}
	h := Handler(innermost)
	for i, m := range slices.Backward(all) {
		if m == nil {
			return nil, fmt.Errorf("%s[%d] is nil", option, i)
		}
		if h = m(h); h == nil {
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

// withMiddleware sends a request through Options.Middleware, once.
func withMiddleware(next sender, c *caller) sender {
	if c.sending == nil {
		return next
	}
	return func(ctx context.Context, r *request, o *callOptions) (got response, err error) {
		defer recoverPanic(c.log, r.method, errMiddlewarePanicked, &err)
		c.wire.assignCallID(r)
		q := c.middlewareRequest(r, o)
		given := q.Params
		q.do = func(ctx context.Context, q *Request) (json.RawMessage, error) {
			sent, o, err := q.applyTo(r, o, given) // copies, because middleware may send them more than once
			if err != nil {
				return nil, err
			}
			got, err = next(ctx, sent, o)
			r.sentEra = sent.sentEra
			return got.result, c.scrubError(err)
		}
		raw, err := c.sending(ctx, q)
		if err != nil {
			return response{}, err
		}
		got.result, err = middlewareResult(raw, got.result)
		return got, err
	}
}

func (c *caller) middlewareRequest(r *request, o *callOptions) *Request {
	q := &Request{
		Client:     c.client,
		Method:     r.method,
		Name:       r.target,
		Params:     r.paramsWithAnswers(),
		Meta:       map[string]json.RawMessage{},
		invocation: new(invocation),
	}
	maps.Copy(q.Meta, o.meta)
	return q
}

// applyTo returns the request with the changes of middleware. given are the original params.
func (q *Request) applyTo(r *request, o *callOptions, given json.RawMessage) (*request, *callOptions, error) {
	changed, options := *r, *o
	options.messageID = &q.invocation.id
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
	changed.target = params.target
	changed.params = params.params
	changed.answers = params.answers
	return &changed, &options, nil
}

// middlewareResult returns the result of the outermost middleware. It is checked if middleware has changed it.
func middlewareResult(raw, got json.RawMessage) (json.RawMessage, error) {
	if len(raw) > 0 && sameBytes(raw, got) {
		return raw, nil
	}
	return checkResult("middleware", raw)
}

func checkResult(by string, raw json.RawMessage) (json.RawMessage, error) {
	made, err := jsonrpc.EncodeParams(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", mcp.ErrInvalidResult, by, err)
	}
	if made == nil {
		return nil, fmt.Errorf("%w: %s: want a JSON object, got nothing", mcp.ErrInvalidResult, by)
	}
	return made, nil
}

func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func (c *caller) notifyThroughMiddleware(ctx context.Context, l *link, method string, params []byte) (err error) {
	defer recoverPanic(c.log, method, errMiddlewarePanicked, &err)
	r, meta, err := customRequest(method, json.RawMessage(params))
	if err != nil {
		return err
	}
	o := new(callOptions)
	o.apply(meta)
	q := c.middlewareRequest(r, o)
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

var (
	errMiddlewarePanicked = errors.New("middleware panicked; the log has its stack")
	errCheckPanicked      = errors.New("function of WithSendCheck panicked; the log has its stack")
)

// recoverPanic is deferred: it logs a panic of the host's code, and sets err to as.
func recoverPanic(log *slog.Logger, method string, as error, err *error) {
	if p := recover(); p != nil {
		log.Error(as.Error(), "method", excerpt.Cut(method), "panic", p, "stack", string(debug.Stack()))
		*err = as
	}
}
