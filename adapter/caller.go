package adapter

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// reportWaiting calls Waiting of the caller of a context. A panic is logged.
func reportWaiting(ctx context.Context, log *slog.Logger, why string) {
	if c := callerOf(ctx); c.Waiting != nil && why != "" {
		_ = runGuarded(log, "Caller.Waiting", func() error { c.Waiting(ctx, why); return nil })
	}
}

// wrapApproval calls Approve of the caller of a context. After a panic, the result refuses.
func wrapApproval(ctx context.Context, log *slog.Logger, next approval.Func) (ask approval.Func) {
	c := callerOf(ctx)
	if c.Approve == nil {
		return next
	}
	if err := runGuarded(log, "Caller.Approve", func() error { ask = c.Approve(next); return nil }); err != nil {
		return func(context.Context, *approval.Request) (approval.Decision, error) { return approval.Decision{}, err }
	}
	return ask
}

// callerOf returns the caller of a context, or one that does nothing.
func callerOf(ctx context.Context) *caller.Caller {
	if c := caller.From(ctx); c != nil {
		return c
	}
	return &caller.Caller{}
}

// OriginFrom returns where the request comes from that a handler answers: [Server.Name], and the id of the model's call
// that caused it. It works in the handlers of [Options.ClientOptions] and [Server.ClientOptions], with the context that
// they get; elsewhere server is "". See also [mcp.OriginFrom].
//
// The call is "" if it is unknown: the request may belong to one of several current calls, on a connection that does not
// say to which (stdio up to revision 2025-11-25).
func OriginFrom(ctx context.Context) (server, call string) {
	o, _ := ctx.Value(originKey{}).(origin)
	return o.server, o.call
}

// origin is where a server's request comes from.
type origin struct{ server, call string }

// The keys of context values. A handler's context has the values that are the same in all calls that may have caused its
// request.
type (
	originKey struct{} // origin, in a handler
	callKey   struct{} // *pendingCall, in a call
)

// callContext is the context of a call. Its values replace an outer call's.
type callContext struct {
	context.Context
	pending *pendingCall
}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c.pending
	case viewKey:
		return c.pending.view
	case keyKey:
		return c.pending.key
	}
	return c.Context.Value(key)
}

// withRequestOrigin returns the context of a handler of a server's requests.
func withRequestOrigin(ctx context.Context, server string) context.Context {
	o := origin{server: server}
	// A handler may call a tool of another server. The requests of that server also carry the
	// values of the first call, which do not belong to it.
	if pending, ok := ctx.Value(callKey{}).(*pendingCall); ok && pending.tool.server.label == server {
		o.call = pending.call.ID
	}
	return context.WithValue(ctx, originKey{}, o)
}

// withQuestions returns a copy of opts for a connection to a server. In its handlers [OriginFrom] works, and requests go to
// the [caller.Caller] of the tool call. Servers may elicit during calls that have a caller, even without an Elicitation handler.
// question is called when a question begins, and its result when the question ends.
func withQuestions(opts *mcpclient.Options, server string, question func(context.Context) func(error)) *mcpclient.Options {
	out := *cmp.Or(opts, new(mcpclient.Options))
	if next := out.Sampling; next != nil {
		sample := func(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if c := callerOf(ctx); c.CreateMessage != nil {
				return c.CreateMessage(ctx, params, next)
			}
			return next.CreateMessage(ctx, params)
		}
		out.Sampling = inquiry.WrapSampling(next, asQuestion(server, question, sample))
	}
	next := out.Elicitation
	handler := next
	if next == nil {
		handler = onlyCallers{}
	}
	elicit := func(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if c := callerOf(ctx); c.Elicit != nil {
			return c.Elicit(ctx, params, next)
		}
		return handler.Elicit(ctx, params)
	}
	out.Elicitation = inquiry.WrapElicitation(handler, asQuestion(server, question, elicit))
	return &out
}

// asQuestion returns a function that calls answer with the origin of a server's question in its context, and tells question
// of the beginning and the end, see withQuestions.
func asQuestion[P, R any](
	server string, question func(context.Context) func(error), answer func(context.Context, P) (R, error),
) func(context.Context, P) (R, error) {
	return func(ctx context.Context, params P) (_ R, err error) {
		ctx = withRequestOrigin(ctx, server)
		answered := question(ctx)
		defer func() { answered(err) }()
		return answer(ctx, params)
	}
}

// onlyCallers is the elicitation handler of a connection for which the host has none.
type onlyCallers struct{}

func (onlyCallers) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: true, URL: true}
}

func (onlyCallers) Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return nil, inquiry.ErrNotAsked
}
