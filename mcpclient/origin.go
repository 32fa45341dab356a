package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Origin tells a handler where a server's request comes from.
type Origin struct {
	// Session is the session that the server asks, a [*Client] where that is one of
	// this package: a handler may call it. Requests of one session have equal values.
	Session any
	Server  Server

	// Call is the client's call in which the server asks, nil when that cannot
	// be known: on a shared connection of the legacy era with several calls
	// under way, or none. A list, a ping and the like, which give a server nothing
	// to ask about, do not count beside a call that does.
	Call *CallInfo

	ID   json.RawMessage // of the server's request; nil in the modern era
	Meta json.RawMessage // _meta of the server's request
}

// CallInfo describes a call that is under way.
type CallInfo struct {
	// ID is the call's own, unique within the Client and never 0. Whatever
	// belongs to the call has it: its input rounds, and all requests about the
	// task that a call became, or that [Client.Task] took up.
	ID int64

	Method string // "tools/call", also where the call has become a task
	Name   string // of the tool or prompt, or the URI of the resource
}

func (r *request) info() CallInfo {
	if r.about != nil {
		return r.about.info()
	}
	return CallInfo{ID: r.call, Method: r.method, Name: r.target}
}

// info is that of the call that became the task: who shows it does not show the id.
func (t *Task) info() CallInfo { return CallInfo{ID: t.call, Method: "tools/call", Name: t.tool} }

type originKey struct{}

// WithOrigin returns a context for a handler, whose request has this origin: for hosts
// that have sessions of their own. Origin.Session has to be comparable.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginFrom returns the origin of the request that a handler is answering.
//
// The handler's context has the values of the call's context too. Where the
// server's request may belong to several calls, a value is there when all of
// their contexts agree on it. It ends with the call when the request came in the
// response to that: in the modern era and over HTTP. A request that only seems to
// belong to a call, because no other is under way, ends when that is given up.
func OriginFrom(ctx context.Context) (Origin, bool) {
	o, ok := ctx.Value(originKey{}).(Origin)
	return o, ok
}

// asked is a server request that is being answered.
type asked struct {
	id      askedID
	call    *jsonrpc.Call // the call it belongs to, when that is known
	certain bool          // it came in the response to that call
	cancel  context.CancelFunc
	silent  bool // the server cancelled it: it wants no answer
}

// askedID is the id of a server request, which counts in its session.
type askedID struct {
	session *httpSession
	id      string
}

// ask prepares the context of a handler for a request of the server. It ends
// with the client, and with the call in whose response the request came. A
// shared connection does not tell the call: then it has the values of all that
// are under way, and ends when the caller of the only one gives up.
func (c *Client) ask(l *link, from *jsonrpc.Call) (context.Context, *asked) {
	a := &asked{call: from, certain: from != nil}
	var parent context.Context
	if from != nil {
		parent = from.Value.(*inFlight).ctx
	} else {
		calls := l.askable()
		if len(calls) == 1 {
			a.call = calls[0]
		}
		parent = &sharedValues{Context: context.Background(), calls: calls}
	}
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(c.life(), cancel)
	resume := l.hold(a.call)
	a.cancel = func() { stop(); cancel(); resume() }
	return ctx, a
}

// askable are the calls to which a server's request may belong: all that are under
// way, if none of them gives the server something to ask about.
func (l *link) askable() []*jsonrpc.Call {
	all := l.calls.Pending()
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
func (l *link) hold(call *jsonrpc.Call) (resume func()) {
	calls := []*jsonrpc.Call{call}
	if call == nil {
		calls = l.calls.Pending()
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

func (a *asked) info() *CallInfo {
	if a.call == nil {
		return nil
	}
	info := a.call.Value.(*inFlight).request.info()
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
