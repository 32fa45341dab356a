package adapter

import (
	"context"
	"log/slog"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A Caller handles the approvals and the servers' questions of the tool calls whose context carries
// it, see [WithCaller]. It is for implementers of an agent. A nil function changes nothing.
type Caller struct {
	// Approve wraps the approval: it returns the function that decides on the call. next is
	// [Options.Approve], which may be nil. If the result is nil, the call is allowed. Trust and
	// remembered decisions take precedence.
	Approve func(next approval.Func) approval.Func

	// Elicit answers a server's question to a person during a call. next is the connection's
	// own handler, nil if it has none.
	Elicit func(ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler) (*mcp.ElicitResult, error)

	// CreateMessage answers a server's sampling request during a call. next is the connection's
	// own handler, nil if it has none.
	CreateMessage func(ctx context.Context, params *mcp.CreateMessageParams, next mcp.SamplingHandler) (*mcp.CreateMessageResult, error)

	// Waiting is called with the call's context when a call has to wait for a connection of
	// [Server.PerUser] before it can be sent, once for each reason.
	Waiting func(ctx context.Context, why string)

	// Unanswered is called when a server's question was refused because it may belong to any of
	// several current calls, one of them the caller's. Nobody was asked.
	Unanswered func(server string, err error)
}

type callerKey struct{}

// WithCaller returns a context whose tool calls c handles. If a server's request may belong to
// several calls, c handles it only if all of them have it: use the same pointer for calls that
// belong together.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// reportWaiting calls Waiting. A panic is logged.
func (c *Caller) reportWaiting(ctx context.Context, log *slog.Logger, why string) {
	if c.Waiting != nil && why != "" {
		_ = runGuarded(log, "Caller.Waiting", func() error { c.Waiting(ctx, why); return nil })
	}
}

// wrapApproval calls Approve. After a panic, the result refuses.
func (c *Caller) wrapApproval(log *slog.Logger, next approval.Func) (ask approval.Func) {
	if c.Approve == nil {
		return next
	}
	if err := runGuarded(log, "Caller.Approve", func() error { ask = c.Approve(next); return nil }); err != nil {
		return func(context.Context, *approval.Request) (approval.Decision, error) { return approval.Decision{}, err }
	}
	return ask
}

// callerOrNil returns the caller of a context, or nil.
func callerOrNil(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// callerFrom returns the caller of a context, or one that does nothing.
func callerFrom(ctx context.Context) *Caller {
	if c := callerOrNil(ctx); c != nil {
		return c
	}
	return &Caller{}
}
