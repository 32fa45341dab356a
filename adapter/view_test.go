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
	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
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

// "Host MUST NOT include tools in the agent's tool list when their visibility does not include model."
func TestAppToolsAreHiddenFromModels(t *testing.T) {
	ts := viewPeer().open(t, nil)
	var sent recorder
	model := check.Value(openai.New(openai.WithToken("none"), openai.WithHTTPClient(&sent)))(t)
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hello")}
	for _, p := range profile.All() {
		_, _ = model.GenerateContent(t.Context(), messages, llms.WithTools(ts.Catalog(p).Definitions()), llms.WithModel("m"))
		for _, name := range []string{"app_tool", "none_tool", "broken_tool"} {
			check.That(t, !bytes.Contains(sent.body, []byte(name)), "%s: got a request with %s", p, name)
		}
		check.That(t, bytes.Contains(sent.body, []byte("model_tool")), "%s: got the request %s\nwant it with model_tool", p, sent.body)
	}
	want := []string{"both_tool", "model_tool", "plain"}
	wantTools(t, ts, want...)
	s := ts.Servers()[0]
	var named []string
	for _, tool := range s.Tools {
		named = append(named, tool.Definition().Name)
	}
	check.Same(t, "tools of the server", named, want)
	var forViews []string
	for _, tool := range ts.ViewAccess("p", "").Tools() {
		forViews = append(forViews, tool.Name)
	}
	slices.Sort(forViews)
	check.Same(t, "tools for views", forViews, []string{"app_tool", "both_tool", "plain"})
	for _, name := range []string{"app_tool", "APP_TOOL", "p__app_tool"} {
		r := callTool(t, ts, name, "{}")
		_, unknown := errors.AsType[*unknownToolError](r.Err)
		check.That(t, unknown && !strings.Contains(r.Text, "broken_tool"), "a model calls %s: got %v, want an unknownToolError", name, r)
	}
}

// openView opens a session of a view, and returns a function that sends it a message, and reads the answer unless none is wanted.
func openView(t *testing.T, ctx context.Context, ts *Toolset) (tell func(message, want string)) {
	transport, conn := mcpclient.Pipe()
	view := check.Value(transport.Dial(t.Context()))(t)
	s := check.Value(host.Open(ctx, conn, ts.ViewAccess("p", "ui://p/v"), nil))(t)
	t.Cleanup(func() { _ = view.Close(); <-s.Done() })
	tell = func(message, want string) {
		t.Helper()
		check.Must(t, view.Send(t.Context(), []byte(message)))
		if want != "" {
			check.Contains(t, message, string(check.Value(view.Recv())(t)), want)
		}
	}
	tell(`{"jsonrpc":"2.0","id":1,"method":"ui/initialize","params":{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}}`,
		`"protocolVersion":"2026-01-26"`)
	tell(`{"jsonrpc":"2.0","method":"ui/notifications/initialized"}`, "")
	return tell
}

// A tool that is hidden from models does not affect the names of others.
func TestAppToolsTakeNoNames(t *testing.T) {
	ts := open(t, nil,
		Server{Name: "a", Transport: newPeer().visible("x", answer("hidden"), []string{"app"}).transport(t)},
		Server{Name: "b", Transport: newPeer().tool("x", object, answer("shown")).transport(t)})
	wantTools(t, ts, "x")
	check.Equal(t, "the visible tool", callTool(t, ts, "x", "{}").Text, "shown")
}

// A model cannot call an offered tool once it is only for views.
func TestToolBecomesAppOnly(t *testing.T) {
	p := newPeer().visible("x", answer("ran"), []string{"model", "app"})
	events := make(chan Event, 4)
	ts := p.open(t, &Options{OnChange: func(e Event) { events <- e }})
	catalog := ts.Catalog(profile.Plain)
	p.visible("x", answer("ran"), []string{"app"})
	check.Must(t, ts.Refresh(t.Context()))
	check.Same(t, "event", <-events, Event{Server: "p", Kind: ToolsChanged, Removed: []string{"x"}})
	staleFor(t, catalog.Call(t.Context(), call("1", "x", "{}")).Err, &staleToolError{tool: "x", server: "p", reason: toolGone})
	check.Equal(t, "a view", check.Value(ts.ViewAccess("p", "ui://p/v").CallTool(t.Context(), "x", nil))(t).Text(), "ran")
}

func TestViewAccess(t *testing.T) {
	other := newPeer().tool("other", object, answer("other's")).visible("other_app", answer("other's"), []string{"app"})
	var asked, intercepted []string
	ts := open(t, &Options{
		Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, a.Server+" "+a.Definition.Name+" "+a.View+" "+string(a.Arguments))
			if a.Definition.Name == "plain" {
				return approval.Decision{Reason: "not now"}, nil
			}
			return approval.Decision{Allow: true, Arguments: json.RawMessage(`{"n":2}`)}, nil
		},
		Intercept: before(func(ctx context.Context, r *Request) {
			intercepted = append(intercepted, ViewFrom(ctx)+" "+r.Tool.Definition().Name)
		}),
	}, Server{Name: "p", Transport: viewPeer().transport(t)}, Server{Name: "other", Transport: other.transport(t)})
	access := ts.ViewAccess("p", "ui://p/v")
	res, err := access.CallTool(t.Context(), "app_tool", json.RawMessage(`{"n": 1}`))
	check.Must(t, err)
	check.Equal(t, "with the arguments of the approval", res.Text(), `{"n":2}`)
	_, err = access.CallTool(t.Context(), "plain", nil)
	denied, ok := errors.AsType[*deniedError](err)
	check.That(t, ok && denied.reason == "not now", "a denied call: got %v", err)
	check.Same(t, "approvals", asked, []string{`p app_tool ui://p/v {"n":1}`, "p plain ui://p/v {}"})
	check.Same(t, "interceptors", intercepted, []string{"ui://p/v app_tool", "ui://p/v plain"})
	for _, name := range []string{"model_tool", "none_tool", "broken_tool", "other", "other_app", "other__other", "Plain", ""} {
		err := check.Err(access.CallTool(t.Context(), name, nil))
		check.That(t, errors.As(err, new(*unknownToolError)), "%q: got %v, want an unknownToolError", name, err)
	}
	for _, arguments := range []string{"[]", `"x"`, "{", "null"} {
		err := check.Err(access.CallTool(t.Context(), "app_tool", json.RawMessage(arguments)))
		check.That(t, errors.As(err, new(*argumentError)), "arguments %s: got %v, want an argumentError", arguments, err)
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
	check.Equal(t, "", check.Value(access.ReadResource(t.Context(), "data://1"))(t).Contents[0].Text, "one")
	check.Is(t, check.Err(access.ReadResource(t.Context(), "data://2")), apps.ErrDenied)
	check.Equal(t, "reads", read, 1)
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
	ts := open(t, &Options{Approve: allowing(func(a *approval.Request) { views = append(views, a.View) })},
		Server{Name: "p", Transport: viewPeer().transport(t)},
		Server{Name: "q", Transport: newPeer().visible("app_tool", answer("q's"), []string{"app"}).transport(t)})
	catalog := ts.ViewTools().Catalog(profile.Plain)
	names := namesOf(catalog.Tools())
	slices.Sort(names)
	check.Same(t, "names", names, []string{"p__app_tool", "p__both_tool", "p__plain", "q__app_tool"})
	tool := check.Value(catalog.LookupStored("q", "app_tool", ""))(t)
	r := catalog.Call(WithView(t.Context(), "ui://q/v"), call("1", tool.Name(), "{}"))
	check.That(t, r.Text == "q's" && slices.Equal(views, []string{"ui://q/v"}), "got %+v, approvals of %q", r, views)
	check.Text(t, check.Err(catalog.LookupStored("q", "plain", "")), "", "a tool of another server was found")
}

// A view calls tools through the session, with the host's approval.
func TestViewSession(t *testing.T) {
	var asked int
	ts := open(t, &Options{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		asked++
		if a.Definition.Name == "plain" {
			return approval.Decision{Reason: "a reason that the view is not told"}, nil
		}
		return approval.Decision{Allow: true}, nil
	}}, Server{Name: "p", Transport: viewPeer().transport(t)}, Server{Name: "q", Transport: newPeer().tool("y", object, echo).transport(t)})
	tell := openView(t, t.Context(), ts)
	tell(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"app_tool","arguments":{"n":1}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"n\":1}"}]`)
	tell(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"plain"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"denied by the user"}}`)
	tell(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"model_tool"}}`, `"code":-32602`)
	tell(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"y"}}`, `"code":-32602`)
	tell(`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`, `"name":"app_tool"`)
	check.Equal(t, "questions", asked, 2)
}

// A view's calls keep the values of the context that the session was opened with, even after it has
// ended: the user, the approver and the trace.
func TestViewSessionIsTheUsers(t *testing.T) {
	var users, asked []string
	ts := viewPeer().open(t, &Options{
		User: func(ctx context.Context) string { users = append(users, userFrom(ctx)); return userFrom(ctx) },
		Intercept: before(func(ctx context.Context, _ *Request) {
			check.Equal(t, "a call of a view has no trace of the host", ctx.Value(traceKey{}), "a trace")
		}),
	})
	ctx, cancel := context.WithCancel(context.WithValue(as(t, "Ada"), traceKey{}, "a trace"))
	ctx = caller.With(ctx, &caller.Caller{Approve: func(approval.Func) approval.Func {
		return func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, a.Definition.Name+" for "+a.View)
			return approval.Decision{}, nil
		}
	}})
	tell := openView(t, ctx, ts)
	cancel()
	tell(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain"}}`, "denied by the user")
	check.Same(t, "approvals", asked, []string{"plain for ui://p/v"})
	check.That(t, slices.Contains(users, "Ada"), "got the users %q, want Ada", users)
}

// A call within a call of a view is not made by the view.
func TestViewIsOfItsCall(t *testing.T) {
	var seen []string
	note := func(ctx context.Context, where string) { seen = append(seen, where+" "+ViewFrom(ctx)) }
	inner := open(t, &Options{
		Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
			note(ctx, "approve "+a.View)
			return approval.Decision{Allow: true}, nil
		},
		Intercept: before(func(ctx context.Context, _ *Request) { note(ctx, "intercept") }),
	}, Server{Name: "inner", Transport: newPeer().tool("x", object, echo).transport(t)})
	within := func(ctx context.Context) {
		catalog := inner.Catalog(profile.Plain)
		check.NoError(t, check.Err(prepare(t, inner, "x", "{}").Approve(ctx)))
		catalog.Call(ctx, call("2", "x", "{}"))
		catalog.Call(WithView(ctx, "ui://other"), call("3", "x", "{}"))
	}
	want := []string{"approve  ", "intercept ", "approve  ", "intercept ui://other", "approve ui://other ui://other"}
	outer := viewPeer().open(t, &Options{
		ApproveRead: func(ctx context.Context, _, _ string) error {
			note(ctx, "read")
			within(ctx)
			return errors.New("no")
		},
		Intercept: before(func(ctx context.Context, _ *Request) {
			note(ctx, "outer")
			within(ctx)
		}),
	})
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
