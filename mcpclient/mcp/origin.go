package mcp

import (
	"context"
	"encoding/json"
)

// Origin tells a handler where a server's request comes from.
type Origin struct {
	// Session is the session that the server asks, a *mcpclient.Client where that is one of
	// this package: a handler may call it. Requests of one session have equal values.
	Session any
	Server  Server

	// Call is the client's call in which the server asks, nil when that cannot
	// be known: on a shared connection of the legacy era with several calls
	// under way, or none. A list, a ping and the like, which give a server nothing
	// to ask about, do not count beside a call that does.
	Call *CallInfo

	ID   json.RawMessage // of the server's request; nil in the modern era
	Key  string          // of the question in its round; "" in the legacy era
	Meta json.RawMessage // _meta of the server's request
}

// CallInfo describes a call that is under way.
type CallInfo struct {
	// ID is the call's own, unique within the Client and never 0. Whatever
	// belongs to the call has it: its input rounds, and all requests about the
	// task that a call became, or that mcpclient.Client.Task took up.
	ID int64

	Method string // "tools/call", also where the call has become a task
	Name   string // of the tool or prompt, or the URI of the resource
}

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
