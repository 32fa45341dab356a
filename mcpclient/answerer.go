package mcpclient

import (
	"context"
	"encoding/json"
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

type answerer struct {
	*peer
	sampling    mcp.SamplingHandler
	elicitation mcp.ElicitationHandler
	handlers    map[string]Handler
	middleware  Handler // Options.ServerMiddleware, or nil
	validator   Validator
	visits      *urlElicitations
	slots       lifecycle.Slots
	session     any             // the Session of each Origin
	newRequest  func() *Request // returns an empty Request of the client

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
	if a.middleware == nil && a.handlers[method] == nil {
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
	if h := a.handlers[method]; h != nil {
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
