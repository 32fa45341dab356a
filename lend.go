package mcpchain

import (
	"context"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// lender answers the sampling requests of servers with the first model that can be lent.
// Connections are made before there is one.
type lender struct {
	mu      sync.Mutex // guards the field below
	sampler *sampling.Sampler
}

// lendable is implemented by models that servers can borrow.
type lendable interface {
	Sampler(*sampling.Options) (*sampling.Sampler, error)
}

// lend sets the model of the lender, unless it has one already or this one cannot be lent.
func (l *lender) lend(m agent.Model, opts *sampling.Options) error {
	lent, ok := m.(lendable)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok || l.sampler != nil {
		return nil
	}
	o := sampling.Options{Review: sampling.AskLater()}
	if opts != nil {
		o = *opts
	}
	if o.Origin == nil {
		o.Origin = adapter.OriginFrom
	}
	sampler, err := lent.Sampler(&o)
	l.sampler = sampler
	return err
}

// SamplingCapability declares that requests may have tools, as [sampling.Sampler] does.
func (l *lender) SamplingCapability() mcp.SamplingCapability {
	return mcp.SamplingCapability{Tools: true}
}

// CreateMessage implements [mcp.SamplingHandler].
func (l *lender) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	l.mu.Lock()
	sampler := l.sampler
	l.mu.Unlock()
	if sampler == nil {
		return nil, &mcp.RPCError{Code: mcp.CodeInternalError, Message: "this host has no model that servers can borrow"}
	}
	return sampler.CreateMessage(ctx, params)
}
