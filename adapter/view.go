package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ViewAccess returns what a view of the server with this label can reach: the server's tools for
// views, and its resources. uri is the URI of the view, for [approval.Request.View]. The result
// remains valid while the toolset is open, and works for a server that is added later.
//
// Calls pass interceptors, approval and the server's limits as a model's calls do. Their errors are
// those of [Result.Err], and match what a view may learn ([apps.ErrDenied], [apps.ErrInvalid]).
//
// A read needs the consent of [Options.ApproveRead], and a URI of at most 2 KiB.
func (t *Toolset) ViewAccess(server, uri string) host.Server {
	return &viewAccess{toolset: t, server: server, uri: uri}
}

// viewAccess implements [host.Server].
type viewAccess struct {
	toolset     *Toolset
	server, uri string
}

// viewKey is the context key of the view of a call: a string during the call, a nextView in a context for calls.
type viewKey struct{}

// nextView is the URI of the view that makes calls with a context. Calls within such a call are not made by the view.
type nextView string

// WithView returns a context for calls of [Toolset.ViewTools] on behalf of a view, see [ViewFrom]. Calls that such a
// tool makes while it runs do not count as the view's. [Toolset.ViewAccess] sets the view itself.
//
// A run does not store the view: pass it to agent.Agent.ResumeEvents again, and in
// RecoverOptions.Context to agent.Recover.
func WithView(ctx context.Context, uri string) context.Context {
	return context.WithValue(ctx, viewKey{}, nextView(uri))
}

// currentView returns the view that makes a call with this context, "" for a model.
func currentView(ctx context.Context) string {
	next, _ := ctx.Value(viewKey{}).(nextView)
	return string(next)
}

// ViewTools returns the tools of all servers for views. An agent with this source makes the calls
// of views as runs, which can wait for a person and survive the process. Each process that drives
// such a run has to set the view, see [WithView]. Use [Catalog.LookupStored] with the view's own
// server only. For every profile its catalogs have the schemas of [profile.Plain].
func (t *Toolset) ViewTools() Source { return viewSource{t} }

type viewSource struct{ toolset *Toolset }

// Catalog implements [Source].
func (s viewSource) Catalog(profile.Profile) *Catalog { return s.toolset.roster.present.Load().views() }

// viewCatalog returns the catalog of tools for views. Each name is prefixed with the server's.
func viewCatalog(o *Options, tools []*Tool) *Catalog {
	tools = slices.DeleteFunc(tools, func(tool *Tool) bool { return tool.local != nil })
	ids := make([]identity, len(tools))
	for i, tool := range tools {
		ids[i] = identity{server: tool.server.label, tool: tool.def.Name}
	}
	for i, name := range assignNames(ids, true) {
		tools[i] = tools[i].withName(name)
	}
	return newCatalog(tools, profile.Plain, o.Policy.MaxResult)
}

// ViewFrom returns the URI of the view that makes a call, "" if a model makes it. It works in
// interceptors and wherever the context of a call is available.
func ViewFrom(ctx context.Context) string {
	if uri, ok := ctx.Value(viewKey{}).(string); ok {
		return uri
	}
	return currentView(ctx)
}

// forViews returns the tools that views may call.
func forViews(tools []*Tool) []*Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool *Tool) bool { return !tool.views.ForViews })
}

// Tools implements [host.Server].
func (a *viewAccess) Tools() []*mcp.Tool {
	_, tools := a.present()
	var out []*mcp.Tool
	for _, tool := range tools {
		out = append(out, tool.def)
	}
	return out
}

// present returns the server, nil if the toolset has none, and its tools for views.
func (a *viewAccess) present() (*server, []*Tool) {
	r := a.toolset.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.indexLocked(a.server)
	if i < 0 || r.servers[i].err != nil {
		return nil, nil
	}
	return r.servers[i], forViews(r.servers[i].tools)
}

// CallTool implements [host.Server].
func (a *viewAccess) CallTool(
	ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption,
) (*mcp.CallToolResult, error) {
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
	r := tool.calls.run(ctx, &pendingCall{tool: tool, call: call, view: a.uri, checkedArgs: checked}, opts)
	if r.Raw != nil {
		return r.Raw, nil
	}
	return nil, r.Err
}

// maxReadURI bounds the URI of a resource that a view reads, in bytes.
const maxReadURI = 2 << 10

// ReadResource implements [host.Server].
func (a *viewAccess) ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	if len(uri) > maxReadURI {
		return nil, fmt.Errorf("%w: a URI over %d bytes", apps.ErrInvalid, maxReadURI)
	}
	s, _ := a.present()
	if s == nil {
		return nil, fmt.Errorf("read resource %q: there is no server %q", excerpt.Limit(uri, 200), a.server)
	}
	ctx = context.WithValue(ctx, viewKey{}, a.uri)
	if approve := a.toolset.opts.ApproveRead; approve != nil {
		err := runGuarded(s.state.opts.Logger, "Options.ApproveRead", func() error { return approve(ctx, a.server, uri) })
		if err != nil {
			return nil, fmt.Errorf("read resource %q: %w: %w", excerpt.Limit(uri, 200), apps.ErrDenied, err)
		}
	}
	opts = append(s.state.policy.timeoutOptions(), opts...)
	conn, release, err := a.toolset.lender.conn(ctx, s.state, opts)
	if err != nil {
		return nil, fmt.Errorf("read resource %q: %w", excerpt.Limit(uri, 200), err)
	}
	defer release()
	return conn.client.ReadResource(ctx, uri, opts...)
}
