package mcp

import (
	"context"
	"encoding/json"
)

// Origin is where a server's request comes from, for its handler.
type Origin struct {
	// Session is the session in which the server asks: a *mcpclient.Client, which a handler may
	// call, or a session of the host. Requests of one session have equal values.
	Session any
	Server  Server

	// Call is the client's call during which the server asks. It is nil if that is unknown: on a
	// connection of the legacy era with no call, or several calls, under way. Lists, pings and
	// other requests that give a server no reason to ask count only while no other call is under way.
	Call *CallInfo

	ID   json.RawMessage // the id of the server's request; nil in the modern era
	Key  string          // the question's key in its round; "" in the legacy era
	Meta json.RawMessage // _meta of the server's request
}

// CallInfo describes a call that is under way.
type CallInfo struct {
	// ID is unique within the Client and never 0. The input rounds of a call have its ID, as do
	// the requests about a task that the call became or that mcpclient.Client.Task resumed.
	ID int64

	Method string // "tools/call", even if the call has become a task
	Name   string // the name of the tool or prompt, or the URI of the resource
}

type originKey struct{}

// WithOrigin returns a context for a handler whose request has this origin. Hosts with sessions of
// their own use it. Origin.Session must be comparable.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginFrom returns the origin of the request that a handler is answering.
//
// The handler's context also has the values of the call's context; if the server's request may belong to several calls,
// those values on which all their contexts agree. In the modern era and over HTTP, where the request came in the
// response to the call, the context ends with the call. Otherwise it ends when the only call under way is given up.
func OriginFrom(ctx context.Context) (Origin, bool) {
	o, ok := ctx.Value(originKey{}).(Origin)
	return o, ok
}
