package adapter

import (
	"context"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// RequestOrigin describes where a server's request comes from.
type RequestOrigin struct {
	Server string        // [Server.Name]
	Tool   *Tool         // the tool that caused the request, nil if unknown
	Call   llms.ToolCall // the model's call, zero if unknown
}

// OriginFrom returns the origin of the request that a handler answers. It works in the handlers of
// [Options.ClientOptions] and [Server.ClientOptions], with the context that they get.
//
// The server is always known. The tool and the call are unknown if the request may belong to one of several current calls
// that differ in them, on a connection that does not say to which (stdio up to revision 2025-11-25).
func OriginFrom(ctx context.Context) (RequestOrigin, bool) {
	s, ok := ctx.Value(originKey{}).(*RequestOrigin)
	if !ok {
		return RequestOrigin{}, false
	}
	return *s, true
}

// The keys of context values. The tool and the call have a key each, because a handler's
// context has the values that are the same in all calls that may have caused its request.
type (
	originKey struct{} // *RequestOrigin, in a handler
	toolKey   struct{} // *Tool, in a call
	callKey   struct{} // *llms.ToolCall, in a call
)

// callContext is the context of a call. Its values replace an outer call's.
type callContext struct {
	context.Context
	pending *pendingCall
}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case toolKey:
		return c.pending.tool
	case callKey:
		return &c.pending.call
	case viewKey:
		return c.pending.view
	case keyKey:
		return c.pending.key
	}
	return c.Context.Value(key)
}

// withRequestOrigin returns the context of a handler of a server's requests.
func withRequestOrigin(ctx context.Context, server string) context.Context {
	origin := &RequestOrigin{Server: server}
	// A handler may call a tool of another server. The requests of that server also carry the
	// values of the first call, which do not belong to it.
	if tool, ok := ctx.Value(toolKey{}).(*Tool); ok && tool.server.label == server {
		origin.Tool = tool
		if call, ok := ctx.Value(callKey{}).(*llms.ToolCall); ok {
			origin.Call = *call
		}
	}
	return context.WithValue(ctx, originKey{}, origin)
}

// WithOrigin returns a copy of opts for a connection that you open yourself and pass as
// Server.Client. In its handlers [OriginFrom] works, and requests go to the [Caller] of the tool
// call. Servers may elicit during calls that have a caller, even without an Elicitation handler. A
// toolset uses WithOrigin for its own connections. server is the Name of the [Server].
func WithOrigin(opts *mcpclient.Options, server string) *mcpclient.Options {
	return withQuestions(opts, server, func(context.Context) func(error) { return func(error) {} })
}

// withQuestions is WithOrigin with a function that is called when a question begins. Its result is
// called when the question ends.
func withQuestions(opts *mcpclient.Options, server string, question func(context.Context) func(error)) *mcpclient.Options {
	var out mcpclient.Options
	if opts != nil {
		out = *opts
	}
	if h := out.Sampling; h != nil {
		out.Sampling = inquiry.WrapSampling(h, func(ctx context.Context, params *mcp.CreateMessageParams) (_ *mcp.CreateMessageResult, err error) {
			ctx = withRequestOrigin(ctx, server)
			answered := question(ctx)
			defer func() { answered(err) }()
			if c := callerFrom(ctx); c.CreateMessage != nil {
				return c.CreateMessage(ctx, params, h)
			}
			return h.CreateMessage(ctx, params)
		})
	}
	next := out.Elicitation
	handler := next
	if next == nil {
		handler = onlyCallers{}
	}
	out.Elicitation = inquiry.WrapElicitation(handler, func(ctx context.Context, params *mcp.ElicitParams) (_ *mcp.ElicitResult, err error) {
		ctx = withRequestOrigin(ctx, server)
		answered := question(ctx)
		defer func() { answered(err) }()
		if c := callerFrom(ctx); c.Elicit != nil {
			return c.Elicit(ctx, params, next)
		}
		return handler.Elicit(ctx, params)
	})
	return &out
}

// onlyCallers is the elicitation handler of a connection for which the host has none.
type onlyCallers struct{}

func (onlyCallers) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: true, URL: true}
}

func (onlyCallers) Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return nil, ErrUserNotAsked
}

// ErrUserNotAsked is what a server gets if its question could not be put to a person. No answer is made up.
var ErrUserNotAsked error = &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the user was not asked: the conversation is unknown, or nobody can be asked now"}
