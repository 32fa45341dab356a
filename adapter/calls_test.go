package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestDispatchRunsInParallelAndAnswersInOrder(t *testing.T) {
	// Each call waits for the other one: run one after the other they would not come to an end.
	met := make(chan struct{})
	ts := newPeer().tool("first", object, saying(func(*sdk.CallToolRequest) string { <-met; return "first" })).
		tool("second", object, saying(func(*sdk.CallToolRequest) string { close(met); return "second" })).open(t, nil)
	got, err := ts.Catalog(profile.Plain).Dispatch(t.Context(), []llms.ToolCall{
		call("1", "first", ""), call("2", "second", "{}"), call("3", "third", "{}"), {ID: "4"},
	})
	check.Must(t, err)
	tool := func(id, name, text string) llms.MessageContent {
		parts := []llms.ContentPart{llms.ToolCallResponse{ToolCallID: id, Name: name, Content: text}}
		return llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: parts}
	}
	want := []llms.MessageContent{
		tool("1", "first", "first"), tool("2", "second", "second"),
		tool("3", "third", `Error: there is no tool named "third". The tools are: first, second`),
		tool("4", "", `Error: there is no tool named "". The tools are: first, second`),
	}
	check.Same(t, "result", got, want)
	got, err = ts.Catalog(profile.Plain).Dispatch(t.Context(), nil)
	check.That(t, len(got) == 0 && err == nil, "got %v, %v for no calls, want nothing", got, err)
}

func TestDispatchIsBounded(t *testing.T) {
	var running, most atomic.Int32
	ts := newPeer().tool("x", object, saying(func(*sdk.CallToolRequest) string {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		return "ok"
	})).open(t, nil)
	calls := make([]llms.ToolCall, 50)
	for i := range calls {
		calls[i] = call(fmt.Sprint(i), "x", "")
	}
	got, err := ts.Catalog(profile.Plain).Dispatch(t.Context(), calls)
	check.That(t, err == nil && len(got) == len(calls), "got %d messages, %v, want %d", len(got), err, len(calls))
	check.That(t, most.Load() <= parallelism, "got %d at the same time, want at most %d", most.Load(), parallelism)
}

func TestDispatchEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newPeer().tool("x", object, hang).open(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		got, err := ts.Catalog(profile.Plain).Dispatch(ctx, slices.Repeat([]llms.ToolCall{call("1", "x", "")}, parallelism+1))
		check.That(t, errors.Is(err, context.DeadlineExceeded) && time.Since(start) == time.Second,
			"got %v after %v, want the end of the context at once", err, time.Since(start))
		check.That(t, len(got) == parallelism+1 && strings.Contains(fmt.Sprint(got[parallelism].Parts[0]), "was cancelled"),
			"got %v, want an answer to each call", got)
	})
}

func TestCallTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silence = "neither an answer nor progress"
		hangs := func(name string) mcpclient.Transport { return newPeer().tool(name, object, hang).transport(t) }
		ts := open(t, &Options{Policy: Policy{CallTimeout: 5 * time.Second}},
			Server{Name: "p", Transport: hangs("x")},
			Server{Name: "q", Transport: hangs("y"), Policy: Policy{CallTimeout: time.Minute}},
			Server{Name: "r", Transport: hangs("z"), Policy: Policy{IdleTimeout: 2 * time.Second}})
		for _, tt := range []struct {
			tool string
			opts []mcpclient.CallOption
			want time.Duration
			gave string
		}{
			{"x", nil, 5 * time.Second, "no answer"},
			{"y", nil, time.Minute, "no answer"},
			{"z", nil, 2 * time.Second, silence},
			{"x", []mcpclient.CallOption{mcpclient.WithTimeout(time.Second)}, time.Second, "no answer"},
			{"x", []mcpclient.CallOption{mcpclient.WithIdleTimeout(time.Second)}, time.Second, silence},
			{"z", []mcpclient.CallOption{mcpclient.WithIdleTimeout(-1), mcpclient.WithTimeout(time.Hour)}, time.Hour, "no answer"},
		} {
			start := time.Now()
			r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", tt.tool, ""), tt.opts...)
			check.Equal(t, tt.tool+": until its answer", time.Since(start), tt.want)
			check.Equal(t, tt.tool, r.Text, fmt.Sprintf("Error: the tool gave %s within %v; it may still be running", tt.gave, tt.want))
			check.That(t, errors.Is(r.Err, context.DeadlineExceeded) && r.Fatal() == nil,
				"got %v, fatal %v, want a deadline that is not fatal", r.Err, r.Fatal())
		}
	})
}

func TestCallFailures(t *testing.T) {
	ts := newPeer().tool("number", number, echo).tool("fails", object, failing("disk full")).
		tool("refuses", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32602, Message: "no such account"}
		}).open(t, nil)
	for _, tt := range []struct{ tool, args, want string }{
		{"fails", "", "Error: disk full"},
		{"refuses", "", "Error: the server answered with an error: no such account (code -32602)"},
		{"number", `{"n":"many"}`, `Error: arguments of number: at "/n": want integer, got string "many". Nothing was done. Correct the arguments and call the tool again.`},
	} {
		r := callTool(t, ts, tt.tool, tt.args)
		check.That(t, r.Text == tt.want && r.IsError && r.Fatal() == nil, "%s: got %q, fatal %v, want %q", tt.tool, r.Text, r.Fatal(), tt.want)
	}
	var toolErr *mcp.ToolError
	r := callTool(t, ts, "fails", "")
	check.That(t, r.Err == nil && errors.As(r.Raw.Err(), &toolErr), "got %v, %v, want the tool's failure with the raw result", r.Err, r.Raw.Err())
	var rpc *mcp.RPCError
	r = callTool(t, ts, "refuses", "")
	check.That(t, errors.As(r.Err, &rpc) && r.Raw == nil, "got %v, want the server's error", r.Err)
	var unknown *unknownToolError
	r = callTool(t, ts, "nope", "")
	check.That(t, errors.As(r.Err, &unknown) && r.Tool == nil, "got %v, want an unknown tool", r.Err)
}

func TestLostConnectionIsAnError(t *testing.T) {
	var p *peer
	p = newPeer().tool("x", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		p.die()
		return hang(ctx, req)
	})
	ts := p.open(t, nil)
	for _, want := range []string{"is lost; the tool may or may not have run", "cannot be reached. Nothing was done."} { // under way, and afterwards
		got, err := ts.Catalog(profile.Plain).Dispatch(t.Context(), []llms.ToolCall{call("1", "x", "")})
		check.That(t, errors.Is(err, mcpclient.ErrClosed) && strings.Contains(err.Error(), `server "p": call tool "x"`),
			"got %v, want the lost connection of p", err)
		check.That(t, len(got) == 1 && strings.Contains(fmt.Sprint(got[0].Parts[0]), want), "got %v, want an answer for the model all the same", got)
	}
}

func TestResultOfACall(t *testing.T) {
	ts := newPeer().tool("x", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{
			Meta:              sdk.Meta{"k": "v"},
			Content:           []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 1000)}, &sdk.ImageContent{Data: []byte{1}, MIMEType: "image/png"}},
			StructuredContent: map[string]any{"n": 1},
		}, nil
	}).open(t, &Options{Policy: Policy{MaxResult: 300}})
	r := ts.Catalog(profile.Plain).Call(t.Context(), call("7", "x", ""))
	check.That(t, len(r.Text) <= 300 && strings.Contains(r.Text, "bytes were cut here"), "got %d bytes %q, want at most 300", len(r.Text), r.Text)
	check.Same(t, "media", r.Media, []llms.ContentPart{llms.BinaryContent{MIMEType: "image/png", Data: []byte{1}}})
	check.That(t, string(r.Raw.StructuredContent) == `{"n":1}` && strings.Contains(string(r.Raw.Meta), `"k":"v"`),
		"got %s %s, want structured content and _meta", r.Raw.StructuredContent, r.Raw.Meta)
	tool, _ := ts.Catalog(profile.Plain).Lookup("x")
	check.That(t, r.Tool == tool && r.Call.ID == "7", "got %v of %v, want the tool and the call", r.Call, r.Tool)
}

func TestCallPassesProgressOn(t *testing.T) {
	ts := newPeer().tool("x", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		note := &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half"}
		return say("done"), req.Session.NotifyProgress(ctx, note)
	}).open(t, nil)
	var got []string
	r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "x", ""), mcpclient.WithProgress(func(p mcp.Progress) { got = append(got, p.Message) }))
	check.Same(t, "progress, result", append(got, r.Text), []string{"half", "done"})
}

func BenchmarkCallOverhead(b *testing.B) {
	tool := toolWith(b, weather)
	for name, input := range map[string]string{"valid": `{"city":"Rome","days":3,"tags":["a","b"]}`, "repaired": `{"city":"Rome","days":"3","tags":"a"}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				check.Must(b, check.Err(tool.arguments(input)))
			}
		})
	}
}

// Tools that needed more than 5 seconds failed, or tools that hang never did.
func TestSlowToolsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer().tool("slow", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := range 20 {
				time.Sleep(4 * time.Minute)
				check.NoError(t, req.Session.NotifyProgress(ctx,
					&sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)}))
			}
			return say("done"), nil
		})
		p.tool("wedged", object, hang)
		ts := p.open(t, nil)
		check.Equal(t, "the answer after 80 minutes", callTool(t, ts, "slow", "").Text, "done")
		start := time.Now()
		check.Contains(t, "the end of its patience", callTool(t, ts, "wedged", "").Text, "neither an answer nor progress within 5m0s")
		check.Equal(t, "until then", time.Since(start), 5*time.Minute)
	})
}

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
	_, err := set.RoundTrip(req)
	check.That(t, errors.Is(err, errNoDial) && sent.Get("X-User") == "ada" && req.Header.Get("X-User") == "none", "got %v, sent %v, kept %v, want ada sent and the request as it was", err, sent, req.Header)
}
