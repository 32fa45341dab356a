// Package caller says who handles the approvals and the servers' questions of a tool call: an agent puts a [Caller]
// into the context of its calls, and package adapter finds it there.
package caller

import (
	"context"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A Caller handles the approvals and the servers' questions of the tool calls whose context carries
// it, see [With]. A nil function changes nothing.
type Caller struct {
	// Approve wraps the approval: it returns the function that decides on the call. next is Approve of the toolset's
	// options, which may be nil. If the result is nil, the call is allowed. Trust and remembered decisions take precedence.
	Approve func(next approval.Func) approval.Func

	// Elicit answers a server's question to a person during a call. next is the connection's
	// own handler, nil if it has none.
	Elicit func(ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler) (*mcp.ElicitResult, error)

	// CreateMessage answers a server's sampling request during a call. next is the connection's
	// own handler, nil if it has none.
	CreateMessage func(ctx context.Context, params *mcp.CreateMessageParams, next mcp.SamplingHandler) (*mcp.CreateMessageResult, error)

	// Waiting is called with the call's context when a call has to wait for a connection of a server
	// with PerUser before it can be sent, once for each reason.
	Waiting func(ctx context.Context, why string)

	// Unanswered is called when a server's question was refused because it may belong to any of
	// several current calls, one of them the caller's. Nobody was asked.
	Unanswered func(server string, err error)
}

type callerKey struct{}

// With returns a context whose tool calls c handles. If a server's request may belong to several calls, c handles
// it only if all of them have it: use the same pointer for calls that belong together.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From returns the caller of a context, or nil.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}
