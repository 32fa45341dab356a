package mcpclient

import (
	"context"

	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func (r *request) info() mcp.CallInfo {
	if r.call.Method != "" {
		return r.call
	}
	return mcp.CallInfo{ID: r.call.ID, Method: r.method, Name: r.target}
}

// info is that of the call that became the task: who shows it does not show the id.
func (t *Task) info() mcp.CallInfo {
	return mcp.CallInfo{ID: t.callID, Method: "tools/call", Name: t.tool}
}

// serverRequest is a server request that is being answered.
type serverRequest struct {
	id      serverRequestID
	call    *jsonrpc.Call // the call it belongs to, when that is known
	certain bool          // it came in the response to that call
	cancel  context.CancelFunc
	silent  bool // the server cancelled it: it wants no answer
}

// serverRequestID is the id of a server request, which counts in its session.
type serverRequestID struct {
	session wire.Session
	id      string
}

// newServerRequest prepares the context of a handler for a request of the server. It ends
// with life, and with the call in whose response the request came. A
// shared connection does not tell the call: then it has the values of all that
// are under way, and ends when the caller of the only one gives up.
func (d *dispatcher) newServerRequest(life context.Context, from *jsonrpc.Call) (context.Context, *serverRequest) {
	r := &serverRequest{call: from, certain: from != nil}
	var parent context.Context
	if from != nil {
		parent = from.Value.(*inFlight).ctx
	} else {
		calls := d.askable()
		if len(calls) == 1 {
			r.call = calls[0]
		}
		parent = &sharedValues{Context: context.Background(), calls: calls}
	}
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(life, cancel)
	resume := d.hold(r.call)
	r.cancel = func() { stop(); cancel(); resume() }
	return ctx, r
}

// askable are the calls to which a server's request may belong: all that are under
// way, if none of them gives the server something to ask about.
func (d *dispatcher) askable() []*jsonrpc.Call {
	all := d.calls.Pending()
	var some []*jsonrpc.Call
	for _, call := range all {
		if givesCause(call.Value.(*inFlight).request) {
			some = append(some, call)
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

// givesCause reports whether a server may have something to ask in the course of a
// request. One about a task belongs to the call that became the task.
func givesCause(r *request) bool {
	switch r.method {
	case "initialize", "server/discover", "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
		"resources/subscribe", "resources/unsubscribe", "logging/setLevel", "tasks/list":
		return false
	}
	return true
}

// hold has the silence of a call not count while its server waits for us, and that of
// all calls when it is not known which one asks.
func (d *dispatcher) hold(call *jsonrpc.Call) (resume func()) {
	calls := []*jsonrpc.Call{call}
	if call == nil {
		calls = d.calls.Pending()
	}
	var all []func()
	for _, call := range calls {
		c := idle.From(call.Value.(*inFlight).ctx)
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
