package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// visible adds a tool with a visibility.
func (p *peer) visible(name string, h sdk.ToolHandler, visibility any) *peer {
	p.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(object), Meta: sdk.Meta{"ui": map[string]any{"resourceUri": "ui://p/v", "visibility": visibility}}}, h)
	return p
}

// viewPeer returns a server with a tool of each visibility.
func viewPeer() *peer {
	return newPeer().tool("plain", object, echo).
		visible("both_tool", echo, []string{"model", "app"}).visible("model_tool", echo, []string{"model"}).
		visible("app_tool", echo, []string{"app"}).visible("none_tool", echo, []string{}).visible("broken_tool", echo, "app")
}

// "Host MUST NOT include tools in the agent's tool list when their visibility does not
// include model."
func TestAppToolsAreHiddenFromModels(t *testing.T) {
	ts := open(t, nil, Server{Name: "p", Transport: viewPeer().transport(t)})
	var sent recorder
	model, err := openai.New(openai.WithToken("none"), openai.WithHTTPClient(&sent))
	check.Must(t, err)
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hello")}
	for _, p := range profile.All() {
		_, _ = model.GenerateContent(t.Context(), messages, llms.WithTools(ts.Catalog(p).Definitions()), llms.WithModel("m"))
		for _, name := range []string{"app_tool", "none_tool", "broken_tool"} {
			if bytes.Contains(sent.body, []byte(name)) {
				t.Errorf("%s: got a request with %s", p, name)
			}
		}
		if !bytes.Contains(sent.body, []byte("model_tool")) {
			t.Errorf("%s: got the request %s\nwant it with model_tool", p, sent.body)
		}
	}
	want := []string{"both_tool", "model_tool", "plain"}
	wantTools(t, ts, want...)
	s := ts.Servers()[0]
	check.Same(t, "tools of the server", serverNames(s.Tools), want)
	check.Same(t, "tools for views", serverNames(s.AppTools), []string{"app_tool", "both_tool", "plain"})
	for _, name := range []string{"app_tool", "APP_TOOL", "p__app_tool"} {
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", name, "{}"))
		if _, unknown := errors.AsType[*unknownToolError](r.Err); !unknown || strings.Contains(r.Text, "broken_tool") {
			t.Errorf("a model calls %s: got %v, want an unknownToolError", name, r)
		}
	}
}

// openView opens a session of a view, and returns the end of the view.
func openView(t *testing.T, ctx context.Context, ts *Toolset) mcpclient.Conn {
	transport, conn := mcpclient.Pipe()
	view, err := transport.Dial(t.Context())
	check.Must(t, err)
	s, err := host.Open(ctx, conn, ts.ViewAccess("p", "ui://p/v"), nil)
	check.Must(t, err)
	t.Cleanup(func() { _ = view.Close(); <-s.Done() })
	return view
}

const initializeView = `{"jsonrpc":"2.0","id":1,"method":"ui/initialize","params":{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}}`

func serverNames(all []*Tool) []string {
	var names []string
	for _, tool := range all {
		names = append(names, tool.Definition().Name)
	}
	return names
}

// A tool that is hidden from models does not affect the names of others.
func TestAppToolsTakeNoNames(t *testing.T) {
	ts := open(t, nil,
		Server{Name: "a", Transport: newPeer().visible("x", answer("hidden"), []string{"app"}).transport(t)},
		Server{Name: "b", Transport: newPeer().tool("x", object, answer("shown")).transport(t)})
	wantTools(t, ts, "x")
	check.Equal(t, "the visible tool", ts.Catalog(profile.Plain).Call(t.Context(), call("1", "x", "{}")).Text, "shown")
}

// A model cannot call an offered tool once it is only for views.
func TestToolBecomesAppOnly(t *testing.T) {
	p := newPeer().visible("x", answer("ran"), []string{"model", "app"})
	events := make(chan Event, 4)
	ts := open(t, &Options{OnChange: func(e Event) { events <- e }}, Server{Name: "p", Transport: p.transport(t)})
	catalog := ts.Catalog(profile.Plain)
	p.visible("x", answer("ran"), []string{"app"})
	check.Must(t, ts.Refresh(t.Context()))
	if e := <-events; !slices.Equal(e.Removed, []string{"x"}) || len(e.Added)+len(e.Changed) > 0 {
		t.Errorf("got the event %+v, want x removed", e)
	}
	r := catalog.Call(t.Context(), call("1", "x", "{}"))
	if stale, ok := errors.AsType[*staleToolError](r.Err); !ok || stale.reason != toolGone {
		t.Errorf("got %v, want a staleToolError", r.Err)
	}
	if res, err := ts.ViewAccess("p", "ui://p/v").CallTool(t.Context(), "x", nil); err != nil || text(res) != "ran" {
		t.Errorf("a view: got %v and %v", res, err)
	}
}

func text(res *mcp.CallToolResult) string {
	if res == nil || len(res.Content) == 0 {
		return ""
	}
	content, _ := res.Content[0].(*mcp.TextContent)
	if content == nil {
		return ""
	}
	return content.Text
}

func TestViewAccess(t *testing.T) {
	other := newPeer().tool("other", object, answer("other's")).visible("other_app", answer("other's"), []string{"app"})
	var asked, intercepted []string
	ts := open(t, &Options{
		Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, a.Server+" "+a.Definition.Name+" "+a.View+" "+string(a.Arguments))
			if a.Definition.Name == "plain" {
				return approval.Deny("not now"), nil
			}
			return approval.Decision{Allow: true, Arguments: json.RawMessage(`{"n":2}`)}, nil
		},
		Intercept: intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			intercepted = append(intercepted, ViewFrom(ctx)+" "+r.Tool.Definition().Name)
			return next(ctx, r)
		}),
	}, Server{Name: "p", Transport: viewPeer().transport(t)}, Server{Name: "other", Transport: other.transport(t)})
	access := ts.ViewAccess("p", "ui://p/v")
	res, err := access.CallTool(t.Context(), "app_tool", json.RawMessage(`{"n": 1}`))
	if err != nil || text(res) != `{"n":2}` {
		t.Errorf("got %q and %v, want the result with the arguments of the approval", text(res), err)
	}
	_, err = access.CallTool(t.Context(), "plain", nil)
	if denied, ok := errors.AsType[*deniedError](err); !ok || denied.reason != "not now" {
		t.Errorf("a denied call: got %v", err)
	}
	check.Same(t, "approvals", asked, []string{`p app_tool ui://p/v {"n":1}`, "p plain ui://p/v {}"})
	check.Same(t, "interceptors", intercepted, []string{"ui://p/v app_tool", "ui://p/v plain"})
	for _, name := range []string{"model_tool", "none_tool", "broken_tool", "other", "other_app", "other__other", "Plain", ""} {
		_, err := access.CallTool(t.Context(), name, nil)
		if _, unknown := errors.AsType[*unknownToolError](err); !unknown {
			t.Errorf("%q: got %v, want an unknownToolError", name, err)
		}
	}
	for _, arguments := range []string{"[]", `"x"`, "{", "null"} {
		_, err := access.CallTool(t.Context(), "app_tool", json.RawMessage(arguments))
		if _, bad := errors.AsType[*argumentError](err); !bad {
			t.Errorf("arguments %s: got %v, want an argumentError", arguments, err)
		}
	}
}

// A view reads resources of its server, if the host allows it.
func TestViewReads(t *testing.T) {
	p := newPeer().tool("x", object, echo)
	read := 0
	for _, uri := range []string{"data://1", "data://2"} {
		p.AddResource(&sdk.Resource{URI: uri, Name: uri}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			read++
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, Text: "one"}}}, nil
		})
	}
	var asked []string
	ts := open(t, &Options{ApproveRead: func(ctx context.Context, server, uri string) error {
		asked = append(asked, server+" "+uri+" for "+ViewFrom(ctx))
		if uri == "data://2" {
			return errors.New("not this one")
		}
		return nil
	}}, Server{Name: "p", Transport: p.transport(t)}, Server{Name: "q", Transport: newPeer().tool("y", object, echo).transport(t)})
	access := ts.ViewAccess("p", "ui://p/v")
	res, err := access.ReadResource(t.Context(), "data://1")
	if err != nil || res.Contents[0].Text != "one" {
		t.Errorf("got %v and %v", res, err)
	}
	if _, err := access.ReadResource(t.Context(), "data://2"); !errors.Is(err, apps.ErrDenied) || read != 1 {
		t.Errorf("got %v, read %d times, want it denied", err, read)
	}
	check.Same(t, "approvals", asked, []string{"p data://1 for ui://p/v", "p data://2 for ui://p/v"})
	for _, server := range []string{"q", "gone"} {
		check.Text(t, check.Err(ts.ViewAccess(server, "").ReadResource(t.Context(), "data://1")), "", server)
	}
	check.Is(t, check.Err(ts.ViewAccess("p", "").ReadResource(t.Context(), "data://"+strings.Repeat("x", 2<<10))), apps.ErrInvalid, "a long URI")
	check.Must(t, ts.Remove("p"))
	check.Text(t, check.Err(ts.ViewAccess("p", "").CallTool(t.Context(), "x", nil)), "", "after Remove: got no error")
}

// ViewTools has the tools for views of each server, and no others.
func TestViewTools(t *testing.T) {
	var views []string
	ts := open(t, &Options{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		views = append(views, a.View)
		return approval.Allow(), nil
	}}, Server{Name: "p", Transport: viewPeer().transport(t)}, Server{Name: "q", Transport: newPeer().visible("app_tool", answer("q's"), []string{"app"}).transport(t)})
	catalog := ts.ViewTools().Catalog(profile.Plain)
	var names []string
	for _, tool := range catalog.Tools() {
		names = append(names, tool.Name())
	}
	slices.Sort(names)
	check.Same(t, "names", names, []string{"p__app_tool", "p__both_tool", "p__plain", "q__app_tool"})
	tool, err := catalog.LookupStored("q", "app_tool", "")
	check.Must(t, err)
	r := catalog.Call(WithView(t.Context(), "ui://q/v"), call("1", tool.Name(), "{}"))
	if r.Text != "q's" || !slices.Equal(views, []string{"ui://q/v"}) {
		t.Errorf("got %+v, approvals of %q", r, views)
	}
	check.Text(t, check.Err(catalog.LookupStored("q", "plain", "")), "", "a tool of another server was found")
}

// A view calls tools through the session, with the host's approval.
func TestViewSession(t *testing.T) {
	var asked int
	ts := open(t, &Options{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		asked++
		if a.Definition.Name == "plain" {
			return approval.Deny("a reason that the view is not told"), nil
		}
		return approval.Allow(), nil
	}}, Server{Name: "p", Transport: viewPeer().transport(t)}, Server{Name: "q", Transport: newPeer().tool("y", object, echo).transport(t)})
	view := openView(t, t.Context(), ts)
	for _, tt := range [][2]string{
		{initializeView, `"protocolVersion":"2026-01-26"`},
		{`{"jsonrpc":"2.0","method":"ui/notifications/initialized"}`, ``},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"app_tool","arguments":{"n":1}}}`, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"n\":1}"}]`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"plain"}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"denied by the user"}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"model_tool"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"y"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`, `"name":"app_tool"`},
	} {
		check.Must(t, view.Send(t.Context(), []byte(tt[0])))
		if tt[1] == "" {
			continue
		}
		got, err := view.Recv()
		if err != nil || !bytes.Contains(got, []byte(tt[1])) {
			t.Errorf("%s: got %s and %v, want %s", tt[0], got, err, tt[1])
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

// A view's calls keep the values of the context that the session was opened with, even after it has
// ended: the user, the approver and the trace.
func TestViewSessionIsTheUsers(t *testing.T) {
	var users, asked []string
	ts := open(t, &Options{
		User: func(ctx context.Context) string {
			user, _ := ctx.Value(userKey{}).(string)
			users = append(users, user)
			return user
		},
		Intercept: intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			check.Equal(t, "a call of a view has no trace of the host", ctx.Value(traceKey{}), "a trace")
			return next(ctx, r)
		}),
	}, Server{Name: "p", Transport: viewPeer().transport(t)})
	ctx, cancel := context.WithCancel(context.WithValue(context.WithValue(t.Context(), userKey{}, "Ada"), traceKey{}, "a trace"))
	ctx = WithCaller(ctx, &Caller{Approve: func(approval.Func) approval.Func {
		return func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, a.Definition.Name+" for "+a.View)
			return approval.Deny(""), nil
		}
	}})
	view := openView(t, ctx, ts)
	cancel()
	var got []byte
	for _, m := range []string{
		initializeView, `{"jsonrpc":"2.0","method":"ui/notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain"}}`,
	} {
		check.Must(t, view.Send(t.Context(), []byte(m)))
	}
	for range 2 {
		var err error
		got, err = view.Recv()
		check.Must(t, err)
	}
	if !bytes.Contains(got, []byte("denied by the user")) || !slices.Equal(asked, []string{"plain for ui://p/v"}) || !slices.Contains(users, "Ada") {
		t.Errorf("got %s, asked %q of the users %q", got, asked, users)
	}
}

// A call within a call of a view is not made by the view.
func TestViewIsOfItsCall(t *testing.T) {
	var seen []string
	note := func(ctx context.Context, where string) { seen = append(seen, where+" "+ViewFrom(ctx)) }
	inner := open(t, &Options{
		Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
			note(ctx, "approve "+a.View)
			return approval.Allow(), nil
		},
		Intercept: intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			note(ctx, "intercept")
			return next(ctx, r)
		}),
	}, Server{Name: "inner", Transport: newPeer().tool("x", object, echo).transport(t)})
	within := func(ctx context.Context) {
		catalog := inner.Catalog(profile.Plain)
		p, err := catalog.Prepare(call("1", "x", "{}"))
		if err == nil {
			_, err = p.Approve(ctx)
		}
		check.NoError(t, err)
		catalog.Call(ctx, call("2", "x", "{}"))
		catalog.Call(WithView(ctx, "ui://other"), call("3", "x", "{}"))
	}
	want := []string{"approve  ", "intercept ", "approve  ", "intercept ui://other", "approve ui://other ui://other"}
	outer := open(t, &Options{
		ApproveRead: func(ctx context.Context, _, _ string) error {
			note(ctx, "read")
			within(ctx)
			return errors.New("no")
		},
		Intercept: intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			note(ctx, "outer")
			within(ctx)
			return next(ctx, r)
		}),
	}, Server{Name: "p", Transport: viewPeer().transport(t)})
	access := outer.ViewAccess("p", "ui://p/v")
	views := outer.ViewTools().Catalog(profile.Plain)
	for name, do := range map[string]func(){
		"outer ui://p/v": func() { _, _ = access.CallTool(t.Context(), "app_tool", nil) },
		"outer ui://p/w": func() { views.Call(WithView(t.Context(), "ui://p/w"), call("1", "p__app_tool", "{}")) },
		"read ui://p/v":  func() { _, _ = access.ReadResource(t.Context(), "ui://p/v") },
	} {
		seen = nil
		do()
		check.Same(t, name, seen, append([]string{name}, want...))
	}
}
