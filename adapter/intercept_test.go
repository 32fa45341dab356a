package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestInterceptors(t *testing.T) {
	var order []string
	around := func(name string) []Interceptor {
		return intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			order = append(order, name+" "+string(r.Arguments))
			res, err := next(ctx, r)
			order = append(order, name+" done")
			return res, err
		})
	}
	change := intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
		r.Arguments = json.RawMessage(`{"city":"Oslo"}`)
		r.Options = append(r.Options, mcpclient.WithMeta("tenant", json.RawMessage(`"t1"`)))
		res, err := next(ctx, r)
		if err == nil {
			res.Content = append(res.Content, &mcp.TextContent{Text: "and more"})
		}
		return res, err
	})
	w := saying(func(req *sdk.CallToolRequest) string {
		return fmt.Sprint(string(req.Params.Arguments), " of ", req.Params.Meta["tenant"])
	})
	ts := newPeer().tool("w", weather, w).open(t, &Options{Intercept: slices.Concat(around("a"), change, around("b"))})
	check.Equal(t, "", callTool(t, ts, "w", `{"city":"Rome"}`).Text, "{\"city\":\"Oslo\"} of t1\nand more")
	check.Same(t, "order", order, []string{`a {"city":"Rome"}`, `b {"city":"Oslo"}`, "b done", "a done"})
}

// intercepted calls the tool w of a server through one interceptor.
func intercepted(t *testing.T, i func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error)) (*Result, int) {
	reached := 0
	w := saying(func(req *sdk.CallToolRequest) string { reached++; return string(req.Params.Arguments) })
	ts := newPeer().tool("w", weather, w).open(t, &Options{Intercept: intercept(i)})
	return callTool(t, ts, "w", `{"city":"Rome"}`), reached
}

func TestInterceptorSkips(t *testing.T) {
	cached := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "cached"}}}
	r, reached := intercepted(t, func(context.Context, *Request, Handler) (*mcp.CallToolResult, error) { return cached, nil })
	check.That(t, r.Text == "cached" && r.Raw == cached && reached == 0, "got %q after %d calls, want the server left alone", r.Text, reached)
}

// A repeated call is approved once. Changed arguments are approved again, even if an interceptor writes them
// over the approved ones, and in the form in which they are sent.
func TestInterceptorRetries(t *testing.T) {
	const bari, oslo, rome = `{"city":"Bari"}`, `{"city":"Oslo"}`, `{"city":"Rome"}`
	for name, other := range map[string]func(*Request){
		"in their place": func(r *Request) { r.Arguments = json.RawMessage(oslo) },
		"names twice":    func(r *Request) { r.Arguments = json.RawMessage(`{"city":"Rome", "city":"Oslo"}`) },
		"over them":      func(r *Request) { copy(r.Arguments, oslo) },
	} {
		var asked, sent []string
		p := newPeer().tool("w", weather, saying(func(req *sdk.CallToolRequest) string { sent = append(sent, string(req.Params.Arguments)); return "ok" }))
		again := intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			for range 2 {
				check.NoError(t, check.Err(next(ctx, r)), name)
			}
			other(r)
			check.NoError(t, check.Err(next(ctx, r)), name)
			r.Arguments = json.RawMessage(bari)
			return next(ctx, r)
		})
		ts := p.open(t, &Options{Intercept: again, Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, string(a.Arguments))
			return approval.Decision{Allow: string(a.Arguments) != bari}, nil
		}})
		check.Text(t, callTool(t, ts, "w", rome).Err, "denied", name, "the last call")
		check.Same(t, name+": approved", asked, []string{rome, oslo, bari})
		check.Same(t, name+": sent", sent, []string{rome, rome, oslo})
	}
}

func TestInterceptorFails(t *testing.T) {
	over := errors.New("over the budget")
	const replaced = "Error: the call was stopped: an interceptor replaced Tool or Call of the Request: call the other tool instead"
	r, reached := intercepted(t, func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
		_, err := next(ctx, r)
		return nil, errors.Join(err, over)
	})
	const afterwards = "Error: the call was stopped: over the budget. The tool may or may not have run."
	check.That(t, r.Text == afterwards && reached == 1 && !r.Unsent(), "after the tool: got %q, %d", r.Text, reached)
	for name, tt := range map[string]struct {
		i    func(context.Context, *Request, Handler) (*mcp.CallToolResult, error)
		want string
	}{
		"error":   {func(context.Context, *Request, Handler) (*mcp.CallToolResult, error) { return nil, over }, "Error: the call was stopped: over the budget"},
		"nothing": {func(context.Context, *Request, Handler) (*mcp.CallToolResult, error) { return nil, nil }, "Error: the call was stopped: interceptor returned neither a result nor an error"},
		"panic":   {func(context.Context, *Request, Handler) (*mcp.CallToolResult, error) { panic("oops") }, "Error: the call was stopped: interceptor panicked: oops"},
		"another tool": {func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			other := *r.Tool
			r.Tool = &other
			return next(ctx, r)
		}, replaced},
		"another call": {func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			r.Call.ID = "2"
			return next(ctx, r)
		}, replaced},
		"another request": {func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			return next(ctx, &Request{Arguments: r.Arguments})
		}, replaced},
		"bad arguments": {func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			r.Arguments = json.RawMessage(`{}`)
			return next(ctx, r)
		}, `Error: arguments of w: missing required property "city". Nothing was done. Correct the arguments and call the tool again.`},
	} {
		r, reached := intercepted(t, tt.i)
		check.That(t, r.Text == tt.want && r.Fatal() == nil && r.Err != nil && reached == 0, "%s: got %q, %v, want %q", name, r.Text, r.Err, tt.want)
	}
}

type userKey struct{}

// If users share a toolset, each request has the headers of its user.
func TestHeadersFromTheContext(t *testing.T) {
	p := newPeer().tool("who", object, saying(func(req *sdk.CallToolRequest) string {
		return req.Extra.Header.Get("X-User") + " " + req.Extra.Header.Get("X-Trace")
	}))
	web := memhttp.New(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return p.Server }, nil))
	t.Cleanup(web.Close)
	headers := ContextHeaders(web.Client().Transport, func(ctx context.Context) http.Header {
		h := http.Header{}
		if user, ok := ctx.Value(userKey{}).(string); ok {
			h.Set("X-User", user)
		}
		if trace, ok := ctx.Value(traceKey{}).(string); ok {
			h["x-trace"] = []string{trace}
		}
		return h
	})
	trace := intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
		return next(context.WithValue(ctx, traceKey{}, r.Call.ID), r)
	})
	ts := open(t, &Options{Intercept: trace}, Server{Name: "s", Transport: &mcpclient.HTTP{URL: web.URL(), Client: &http.Client{Transport: headers}}})
	answers := make(chan string)
	for _, user := range []string{"ada", "bob", "eve"} {
		go func() { answers <- ts.Catalog(profile.Plain).Call(as(t, user), call("call-of-"+user, "who", "")).Text }()
	}
	got := []string{<-answers, <-answers, <-answers}
	slices.Sort(got)
	check.Same(t, "result", got, []string{"ada call-of-ada", "bob call-of-bob", "eve call-of-eve"})
}

type traceKey struct{}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestContextHeadersLeaveTheRequestAlone(t *testing.T) {
	var sent http.Header
	base := roundTripper(func(req *http.Request) (*http.Response, error) { sent = req.Header; return nil, errNoDial })
	req := check.Value(http.NewRequestWithContext(t.Context(), "POST", "http://example.com", strings.NewReader("")))(t)
	req.Header.Set("X-User", "none")
	set := ContextHeaders(base, func(context.Context) http.Header { return http.Header{"x-user": {"ada"}} })
	if _, err := set.RoundTrip(req); !errors.Is(err, errNoDial) || sent.Get("X-User") != "ada" || req.Header.Get("X-User") != "none" {
		t.Errorf("got %v, sent %v, kept %v, want ada sent and the request as it was", err, sent, req.Header)
	}
}
