package mcpclient

import (
	"context"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// serverRequest is a request of the server that is being answered.
type serverRequest struct {
	id       serverRequestID
	call     *jsonrpc.Call // the call that it belongs to, if known
	certain  bool          // it came in the response to that call
	cancel   context.CancelFunc
	unwanted bool // the server cancelled it and wants no answer
}

// serverRequestID is the id of a server's request, which is unique in its session.
type serverRequestID struct {
	session wire.Session
	id      string
}

// newServerRequest returns the context of a handler for a server's request. It ends with life,
// and with the call in whose response the request came. A shared connection does not name the
// call: then the context has the values on which all current calls agree, and if there is only
// one, ends when its caller gives up.
func (d *dispatcher) newServerRequest(life context.Context, from *jsonrpc.Call) (context.Context, *serverRequest) {
	r := &serverRequest{call: from, certain: from != nil}
	var parent context.Context
	if from != nil {
		parent = from.Value.(*inFlight).ctx
	} else {
		calls := d.possibleCalls()
		if len(calls) == 1 {
			r.call = calls[0]
		}
		parent = &sharedValues{Context: context.Background(), calls: calls}
	}
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(life, cancel)
	resume := d.holdIdleTimers(r.call)
	r.cancel = func() { stop(); cancel(); resume() }
	return ctx, r
}

// possibleCalls returns the calls to which a server's request may belong: those that give a server
// reason to ask, or all if none does.
func (d *dispatcher) possibleCalls() []*jsonrpc.Call {
	all := d.calls.Pending()
	var some []*jsonrpc.Call
	for _, call := range all {
		if mayCauseQuestions(call.Value.(*inFlight).request) {
			some = append(some, call)
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

// mayCauseQuestions reports whether a request may lead the server to ask something. A request about
// a task belongs to the call that became the task.
func mayCauseQuestions(r *request) bool {
	switch r.method {
	case "initialize", "server/discover", "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
		"resources/subscribe", "resources/unsubscribe", "logging/setLevel", "tasks/list":
		return false
	}
	return true
}

// holdIdleTimers stops the idle timer of a call while its server waits for the client, and the
// timers of all calls if it is unknown which one asks.
func (d *dispatcher) holdIdleTimers(call *jsonrpc.Call) (resume func()) {
	calls := []*jsonrpc.Call{call}
	if call == nil {
		calls = d.calls.Pending()
	}
	var all []func()
	for _, call := range calls {
		c := bound.From(call.Value.(*inFlight).ctx)
		c.Heard()
		all = append(all, c.Hold())
	}
	return func() {
		for _, resume := range all {
			resume()
		}
	}
}

func (r *serverRequest) info() *mcp.CallInfo {
	if r.call == nil {
		return nil
	}
	info := r.call.Value.(*inFlight).request.info()
	return &info
}

// sharedValues is a context with the values on which the contexts of several calls agree.
type sharedValues struct {
	context.Context
	calls []*jsonrpc.Call
}

func (s *sharedValues) Value(key any) any {
	var shared any
	for i, call := range s.calls {
		v := call.Value.(*inFlight).ctx.Value(key)
		if i > 0 && !equal(v, shared) {
			return nil
		}
		shared = v
	}
	return shared
}

// equal reports whether a and b are equal. Values that cannot be compared differ.
func equal(a, b any) (same bool) {
	defer func() { _ = recover() }() // == panics for them
	return a == b
}
