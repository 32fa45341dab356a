package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ViewAccess is what the views of one server may reach of it: the tools that are for
// views, and its resources. Calls go the way of a model's calls: through the interceptors,
// the approval and the limits of the server. Nothing of another server can be
// reached. It is a Server of package mcpclient/apps/host, and its errors say what a view is
// told (apps.ErrDenied, apps.ErrInvalid).
type ViewAccess struct {
	toolset     *Toolset
	server, uri string
}

// ViewAccess returns what a view of the server with this label may reach. uri is the URI
// of the view, for [approval.Request.View]. It follows the server: it is valid while the toolset
// is open, also if the server is added later.
func (t *Toolset) ViewAccess(server, uri string) *ViewAccess {
	return &ViewAccess{toolset: t, server: server, uri: uri}
}

// viewKey is the key of the context value that is the view of a call: a string in the call, and a nextView
// in a context for calls.
type viewKey struct{}

// nextView is the URI of the view that makes the calls with a context. A call within one of these is not
// the view's.
type nextView string

// WithView returns a context for calls on behalf of a view, see [ViewFrom]: of [Toolset.ViewTools]. What such a
// call itself calls is not on behalf of the view. Calls of a [ViewAccess] have its view.
//
// A run does not keep the view: give it to agent.Agent.Resume again, and to the runs that agent.Recover
// drives by RecoverOptions.Context.
func WithView(ctx context.Context, uri string) context.Context {
	return context.WithValue(ctx, viewKey{}, nextView(uri))
}

// viewOf is the view for which a call with this context is made, "" for a model.
func viewOf(ctx context.Context) string {
	next, _ := ctx.Value(viewKey{}).(nextView)
	return string(next)
}

// ViewTools has the tools of all servers for views, for an agent that makes the calls of views: as runs, they
// can wait for a person and survive the process. Each process that drives such a run has to say for which
// view, see [WithView]. [Catalog.Find] has the tool of one server; look it up at the view's own server
// only. All profiles are as [profile.Plain].
func (t *Toolset) ViewTools() Source { return viewSource{t} }

type viewSource struct{ toolset *Toolset }

// Catalog implements [Source].
func (s viewSource) Catalog(profile.Profile) *Catalog { return s.toolset.roster.present.Load().views() }

// viewCatalog is the catalog of tools for views. Each name begins with the server's.
func viewCatalog(o *Options, tools []*Tool) *Catalog {
	tools = slices.DeleteFunc(tools, func(tool *Tool) bool { return tool.local != nil })
	ids := make([]identity, len(tools))
	for i, tool := range tools {
		ids[i] = identity{server: tool.policy.label, tool: tool.def.Name}
	}
	for i, name := range assignNames(ids, true) {
		tools[i] = tools[i].named(name)
	}
	return newCatalog(tools, profile.Plain, o.Parallelism, o.Policy.MaxResult)
}

// ViewFrom returns the URI of the view that makes a call, "" if a model makes it. It works
// in interceptors and with what else gets the context of a call.
func ViewFrom(ctx context.Context) string {
	if uri, ok := ctx.Value(viewKey{}).(string); ok {
		return uri
	}
	return viewOf(ctx)
}

// forViews are the tools that views may call.
func forViews(tools []*Tool) []*Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool *Tool) bool { return !tool.views.ForViews })
}

// Tools returns the tools that views of the server may call, as it lists them at
// present.
func (a *ViewAccess) Tools() []*mcp.Tool {
	_, tools := a.present()
	var out []*mcp.Tool
	for _, tool := range tools {
		out = append(out, tool.def)
	}
	return out
}

// present is the server as the toolset has it, nil if it has none, and its tools for views.
func (a *ViewAccess) present() (*server, []*Tool) {
	r := a.toolset.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.indexLocked(a.server)
	if i < 0 || r.servers[i].err != nil {
		return nil, nil
	}
	return r.servers[i], forViews(r.servers[i].tools)
}

// CallTool calls a tool by the server's name of it. The arguments are sent as they are, a
// JSON object that fits the tool's schema. The error is [ErrUnknownTool] for a tool
// that is not for views, and otherwise as [Result.Err] has it.
func (a *ViewAccess) CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	_, all := a.present()
	i := slices.IndexFunc(all, func(tool *Tool) bool { return tool.def.Name == name })
	if i < 0 {
		return nil, &unknownToolError{name: name}
	}
	tool := all[i]
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	checked, err := tool.check(arguments)
	if err != nil {
		return nil, err
	}
	call := llms.ToolCall{Type: "function", FunctionCall: &llms.FunctionCall{Name: tool.name, Arguments: string(arguments)}}
	r := tool.calls.run(ctx, &sending{tool: tool, call: call, view: a.uri, checked: checked}, opts)
	if r.Raw != nil {
		return r.Raw, nil
	}
	return nil, r.Err
}

// maxReadURI bounds the URI of a resource that a view reads, in bytes.
const maxReadURI = 2 << 10

// ReadResource reads a resource of the server, if [Options.ApproveRead] agrees: a URI of at most 2 KiB. The
// context of the read names the view, see [ViewFrom].
func (a *ViewAccess) ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	if len(uri) > maxReadURI {
		return nil, fmt.Errorf("%w: a URI over %d bytes", apps.ErrInvalid, maxReadURI)
	}
	s, _ := a.present()
	if s == nil {
		return nil, fmt.Errorf("read resource %q: there is no server %q", cut(uri, 200), a.server)
	}
	ctx = context.WithValue(ctx, viewKey{}, a.uri)
	if approve := a.toolset.opts.ApproveRead; approve != nil {
		err := guarded(s.policy.log, "Options.ApproveRead", func() error { return approve(ctx, a.server, uri) })
		if err != nil {
			return nil, fmt.Errorf("read resource %q: %w: %w", cut(uri, 200), apps.ErrDenied, err)
		}
	}
	opts = append(callLimits(s.policy.IdleTimeout, s.policy.CallTimeout), opts...)
	if s.policy.perUser > 0 {
		if s, err := a.toolset.lender.userConn(ctx, s.policy); err != nil {
			return nil, fmt.Errorf("read resource %q: %w", cut(uri, 200), err)
		} else {
			defer s.release(callerOf(ctx))
			return s.client.ReadResource(ctx, uri, opts...)
		}
	}
	return s.client.ReadResource(ctx, uri, opts...)
}
