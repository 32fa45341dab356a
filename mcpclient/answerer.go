package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// answerer lets the host's handlers answer what servers of both eras ask.
type answerer struct {
	*peer
	opts       *Options
	middleware Handler // Options.ServerMiddleware, or nil
	open       *openElicitations
	slots      lifecycle.Slots
	session    any             // the Session of each Origin
	newRequest func() *Request // returns an empty Request of the client

	roots atomic.Pointer[[]mcp.Root] // nil without Options.Roots
}

// handleFunc answers a request of the server. from has its ID or Key, and its Call.
type handleFunc func(ctx context.Context, method string, params json.RawMessage, from mcp.Origin) (json.RawMessage, error)

// handle is the [handleFunc] of both eras. A panic of a handler becomes an error.
func (a *answerer) handle(ctx context.Context, method string, params json.RawMessage, from mcp.Origin) (result json.RawMessage, err error) {
	defer recoverPanic(a.log, method, errPanicked, &err)
	var meta struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if len(params) > 0 {
		if err := json.Unmarshal(params, &meta); err != nil {
			return nil, newRefusal(mcp.CodeInvalidParams, "params: %v", err)
		}
	}
	ctx = context.WithValue(ctx, servingKey{a.slots}, true)
	from.Session, from.Server, from.Meta = a.session, a.peer.serverInfo(), meta.Meta
	ctx = mcp.WithOrigin(ctx, from)
	if a.middleware == nil && a.opts.Handlers[method] == nil {
		return a.callHandler(ctx, &Request{Method: method, Params: params})
	}
	q, err := a.hostRequest(method, params, meta.Meta)
	switch {
	case err != nil:
		return nil, err
	case a.middleware == nil:
		return a.callHandler(ctx, q)
	}
	return a.callMiddleware(ctx, q)
}

func (a *answerer) callHandler(ctx context.Context, q *Request) (json.RawMessage, error) {
	method, params := q.Method, q.Params
	if h := a.opts.Handlers[method]; h != nil {
		result, err := h(ctx, q)
		if err != nil {
			return nil, err
		}
		return checkResult("handler of "+strconv.Quote(method), result)
	}
	switch method {
	case "sampling/createMessage":
		return a.createMessage(ctx, params)
	case "elicitation/create":
		return a.elicit(ctx, params)
	case rootsMethod:
		return a.listRoots()
	}
	return nil, newRefusal(mcp.CodeMethodNotFound, "method %q is not available", excerpt.Cut(method))
}

// hostRequest returns a request for a handler of the host or for middleware.
func (a *answerer) hostRequest(method string, params, meta json.RawMessage) (*Request, error) {
	q := a.newRequest()
	q.Method, q.Params = method, params
	if len(meta) > 0 && meta[0] == '{' { // other values are in Origin.Meta only
		var err error
		if q.Meta, err = jsonrpc.Object(meta, jsonrpc.MaxElements); err != nil {
			return nil, newRefusal(mcp.CodeInvalidParams, "_meta: %v", err)
		}
	}
	return q, nil
}

func (a *answerer) callMiddleware(ctx context.Context, q *Request) (json.RawMessage, error) {
	method := q.Method // middleware cannot change it
	var got json.RawMessage
	q.do = func(ctx context.Context, q *Request) (_ json.RawMessage, err error) {
		defer recoverPanic(a.log, method, errPanicked, &err) // middleware gets an error
		changed := *q
		changed.Method = method
		got, err = a.callHandler(ctx, &changed)
		return got, err
	}
	raw, err := a.middleware(ctx, q)
	if err != nil {
		return nil, err
	}
	return middlewareResult(raw, got)
}

func checkRoot(r mcp.Root) error {
	if _, err := url.Parse(r.URI); err != nil || !strings.HasPrefix(r.URI, "file://") {
		return fmt.Errorf("root %q: the URI must start with file://", r.URI)
	}
	return nil
}

const rootsMethod = "roots/list"

// storeRoots stores a copy of the roots, which is never nil.
func (a *answerer) storeRoots(roots []mcp.Root) {
	kept := append([]mcp.Root{}, roots...)
	a.roots.Store(&kept)
}

func (a *answerer) listRoots() (json.RawMessage, error) {
	if !a.peer.offers.roots {
		return nil, uninstalledError("roots are not available", "Options.Roots")
	}
	roots := *a.roots.Load()
	return jsonrpc.Marshal(struct {
		Roots []mcp.Root `json:"roots"`
	}{roots})
}

// refusal is an answer that did not come from a handler: the request was not allowed.
type refusal struct {
	answer *mcp.RPCError
	hint   string // advice for the host, after the message; "" for none
}

func (r *refusal) Error() string           { return r.answer.Error() + r.hint }
func (r *refusal) Unwrap() error           { return r.answer }
func (r *refusal) RPCError() *mcp.RPCError { return r.answer }

// newRefusal returns a refusal with a message, which is bounded: it may have text of the server.
func newRefusal(code int, format string, args ...any) error {
	return &refusal{&mcp.RPCError{Code: code, Message: excerpt.Cut(fmt.Sprintf(format, args...))}, ""}
}

func uninstalledError(message, option string) error {
	return &refusal{&mcp.RPCError{Code: mcp.CodeMethodNotFound, Message: message}, " (" + option + " is not set)"}
}

var errExited = errors.New("the handler ended its goroutine (runtime.Goexit, as t.FailNow calls it)")

var errPanicked error = panickedError{}

type panickedError struct{}

func (panickedError) Error() string { return "the handler panicked" }

// RPCError returns the error for the server.
func (e panickedError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: e.Error()}
}

// wireError returns what a server learns of an error: the error itself if it was made for
// the server, and otherwise only that there was one. A wrapped error was made for someone else,
// for example by another server.
func wireError(err error) (e *mcp.RPCError) {
	switch made := err.(type) { // not errors.As, see above
	case *mcp.RPCError:
		e = made
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
