package adapter

import (
	"context"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Source says where a server's request comes from, in the host's own terms.
type Source struct {
	Server string        // the label of the server, [Server.Name]
	Tool   *Tool         // the tool that asks, nil when unknown
	Call   llms.ToolCall // the model's call that the tool answers, zero when unknown
}

// SourceFrom tells a handler whose request it is answering. It works in the
// handlers that [Options.Client] and [Server.Options] install, with the context
// that they get.
//
// The server is always known. Tool and call are known when the request can only
// belong to that one: with several calls under way on a connection that does
// not tell them apart (stdio up to revision 2025-11-25), what they do not have
// in common stays unknown.
func SourceFrom(ctx context.Context) (Source, bool) {
	s, ok := ctx.Value(sourceKey{}).(*Source)
	if !ok {
		return Source{}, false
	}
	return *s, true
}

// The keys of context values. What is known of a call is kept under two keys,
// each holding a pointer, because a handler sees the values on which all calls
// that may have caused its request agree.
type (
	sourceKey struct{} // *Source, in a handler
	toolKey   struct{} // *Tool, in a call
	callKey   struct{} // *llms.ToolCall, in a call
)

// withCall returns the context of a call of a tool.
func withCall(ctx context.Context, tool *Tool, call *llms.ToolCall) context.Context {
	return context.WithValue(context.WithValue(ctx, toolKey{}, tool), callKey{}, call)
}

// withSource returns the context of a handler of a server's requests.
func withSource(ctx context.Context, server string) context.Context {
	source := &Source{Server: server}
	// A handler may itself call a tool of another server, whose requests then
	// carry the values of the first call as well: those are not meant.
	if tool, ok := ctx.Value(toolKey{}).(*Tool); ok && tool.policy.label == server {
		source.Tool = tool
		if call, ok := ctx.Value(callKey{}).(*llms.ToolCall); ok {
			source.Call = *call
		}
	}
	return context.WithValue(ctx, sourceKey{}, source)
}

// withSources returns options whose handlers know their source.
func withSources(opts *mcpclient.Options, server string) *mcpclient.Options {
	var out mcpclient.Options
	if opts != nil {
		out = *opts
	}
	if out.Sampling != nil {
		out.Sampling = sampling{server, out.Sampling}
	}
	if out.Elicitation != nil {
		out.Elicitation = elicitation{server, out.Elicitation}
	}
	return &out
}

// sampling is a handler that is told its source.
type sampling struct {
	server string
	next   mcp.SamplingHandler
}

func (s sampling) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return s.next.CreateMessage(withSource(ctx, s.server), params)
}

// SamplingCapability answers for the handler inside.
func (s sampling) SamplingCapability() mcp.SamplingCapability {
	if next, ok := s.next.(interface {
		SamplingCapability() mcp.SamplingCapability
	}); ok {
		return next.SamplingCapability()
	}
	return mcp.SamplingCapability{}
}

// elicitation is a handler that is told its source.
type elicitation struct {
	server string
	next   mcp.ElicitationHandler
}

func (e elicitation) Elicit(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return e.next.Elicit(withSource(ctx, e.server), params)
}

// ElicitationCapability answers for the handler inside: forms only, when it does
// not say.
func (e elicitation) ElicitationCapability() mcp.ElicitationCapability {
	if next, ok := e.next.(interface {
		ElicitationCapability() mcp.ElicitationCapability
	}); ok {
		return next.ElicitationCapability()
	}
	return mcp.ElicitationCapability{Form: true}
}
