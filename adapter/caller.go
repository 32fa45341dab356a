package adapter

import (
	"context"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Caller takes part in the tool calls that are made with its context, see
// [WithCaller]: an agent is one. A nil function leaves things as they are.
type Caller struct {
	// Approve returns what decides on a call instead of next, the function of the
	// host: [Options.Approve], nil if there is none. Nil allows
	// every call. Trust and remembered decisions come before it.
	Approve func(next approval.Func) approval.Func

	// Elicit answers what a server asks a person during a call, instead of next, the handler
	// that the host gave the connection; nil if it gave none.
	Elicit func(ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler) (*mcp.ElicitResult, error)

	// CreateMessage answers what a server asks a model during a call, instead of
	// next, the handler of the connection.
	CreateMessage func(ctx context.Context, params *mcp.CreateMessageParams, next mcp.SamplingHandler) (*mcp.CreateMessageResult, error)

	// Waiting is told why a call waits before it is sent, with the context of the call: for a connection of
	// [Server.PerUser], or for a server that is being started.
	Waiting func(ctx context.Context, why string)

	// Unanswered is told of a question of a server that was refused, as it is not known to which of several calls
	// under way it belongs, and the caller's is one of them. Nothing was said in the name of a person.
	Unanswered func(server string, err error)
}

type callerKey struct{}

// WithCaller returns a context for tool calls in which c takes part. If a server's
// request may belong to several calls, c takes part if all of them have it: give
// calls that belong together the same pointer.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// waiting tells the caller why a call waits.
func (c *Caller) waiting(ctx context.Context, why string) {
	if c.Waiting != nil && why != "" {
		c.Waiting(ctx, why)
	}
}

// callerOf is the caller of a context, nil without one.
func callerOf(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// callerFrom is the caller of a context, one that does nothing without one.
func callerFrom(ctx context.Context) *Caller {
	if c := callerOf(ctx); c != nil {
		return c
	}
	return &Caller{}
}
