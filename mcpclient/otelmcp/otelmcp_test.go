package otelmcp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/otelmcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// eras are the ways to ask: by a request, or in a result.
var eras = map[string]mcpclient.Options{
	"legacy": {Protocol: mcpclient.Protocol{Revision: mcp.Revision20251125}},
	"modern": {Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}},
}

const question = `{"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":5,"_meta":%s}`

// asker answers calls of tools by their names. Before that it asks for a
// completion with _meta, which the function meta makes from the call's _meta.
func asker(meta func(of map[string]json.RawMessage) string) func(m message) string {
	var call message
	return func(m message) string {
		done := `{"content":[{"type":"text","text":"done"}]}`
		switch {
		case m.Method == "tools/call" && m.Params.Meta["io.modelcontextprotocol/clientInfo"] == nil:
			call = m
			return `{"id":"q-1","method":"sampling/createMessage","params":` + fmt.Sprintf(question, meta(m.Params.Meta)) + `}`
		case m.Method == "" && m.Result != nil:
			return fmt.Sprintf(`{"id":%s,"result":%s}`, call.ID, done)
		case m.Method == "tools/call" && m.Params.Answers == nil:
			return `{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":` + fmt.Sprintf(question, meta(m.Params.Meta)) + `}}}`
		case m.Method == "tools/call":
			return done
		}
		return ""
	}
}

// sampler is a handler that passes its context to the test.
func sampler(o mcpclient.Options, seen func(ctx context.Context)) mcpclient.Options {
	o.Sampling = mcp.SamplingFunc(func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		seen(ctx)
		return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "tea"}}}, nil
	})
	return o
}

// A trace goes from the caller to the server, and from there to the handler.
func TestTrace(t *testing.T) {
	const serverSpan = "00f067aa0ba902b7"
	for name, opts := range eras {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t)
			var handler trace.SpanContext
			var member string
			opts := r.install(sampler(opts, func(ctx context.Context) {
				handler = trace.SpanContextFromContext(ctx)
				member = baggage.FromContext(ctx).Member("user").Value()
			}))
			wire := map[string]string{}
			c, _ := connect(t, t.Context(), opts, asker(func(of map[string]json.RawMessage) string {
				for _, key := range []string{"traceparent", "tracestate", "baggage"} {
					var value string
					_ = json.Unmarshal(of[key], &value)
					wire[key] = value
				}
				return fmt.Sprintf(`{"traceparent":%q,"baggage":"user=server"}`, wire["traceparent"][:36]+serverSpan+"-01")
			}))
			state, _ := trace.ParseTraceState("vendor=x")
			member1, _ := baggage.NewMember("user", "ada")
			bag, _ := baggage.New(member1)
			ctx := baggage.ContextWithBaggage(t.Context(), bag)
			ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state,
			}))
			ctx, app := r.tracers.Tracer("app").Start(ctx, "app")
			check.Must(t, check.Err(c.CallTool(ctx, "ask", nil)))
			app.End()

			call := r.span("tools/call ask")
			check.That(t, call.SpanKind == trace.SpanKindClient && call.Parent.SpanID() == app.SpanContext().SpanID() && call.Status.Code == codes.Unset,
				"call: got kind %v, parent %v, status %v", call.SpanKind, call.Parent, call.Status)
			parent := fmt.Sprintf("00-%s-%s-01", call.SpanContext.TraceID(), call.SpanContext.SpanID())
			check.Same(t, "_meta", wire, map[string]string{"traceparent": parent, "tracestate": "vendor=x", "baggage": "user=ada"})
			asked := r.span("sampling/createMessage")
			if asked.SpanKind != trace.SpanKindServer || asked.Parent.SpanID().String() != serverSpan || !asked.Parent.IsRemote() ||
				asked.Parent.TraceID() != call.SpanContext.TraceID() {
				t.Errorf("question: got kind %v, parent %v", asked.SpanKind, asked.Parent)
			}
			check.That(t, len(asked.Links) == 1 && asked.Links[0].SpanContext.SpanID() == call.SpanContext.SpanID(),
				"question: got links %v, want the call", asked.Links)
			check.Equal(t, "span of the handler", handler.SpanID(), asked.SpanContext.SpanID())
			check.Equal(t, "baggage of the handler", member, "server")

			id, question, first := "3", "", "server/discover" // the second round; questions have no id
			if name == "legacy" {
				id, question, first = "2", "jsonrpc.request.id=q-1 ", "initialize"
				r.span("notifications/initialized")
			}
			revision := " mcp.protocol.version=" + opts.Protocol.Revision
			check.Equal(t, "call", text(call.Attributes),
				"gen_ai.operation.name=execute_tool gen_ai.tool.name=ask jsonrpc.request.id="+id+" mcp.method.name=tools/call"+revision)
			check.Equal(t, "question", text(asked.Attributes), question+"mcp.method.name=sampling/createMessage"+revision)
			check.Contains(t, "handshake", text(r.span(first).Attributes), "mcp.method.name="+first)
		})
	}
}

// Without trace context of the server the call is the parent of its question. Broken trace context is ignored.
func TestQuestionWithoutTrace(t *testing.T) {
	for name, opts := range eras {
		for _, meta := range []string{`{}`, `{"traceparent":"nonsense","baggage":1}`, `{"traceparent":{}}`, `null`} {
			t.Run(name+" "+meta, func(t *testing.T) {
				r := newRecorder(t)
				c, _ := connect(t, t.Context(), r.install(sampler(opts, func(context.Context) {})), asker(func(map[string]json.RawMessage) string { return meta }))
				check.Must(t, check.Err(c.CallTool(t.Context(), "ask", nil)))
				call, asked := r.span("tools/call ask"), r.span("sampling/createMessage")
				check.That(t, asked.Parent.SpanID() == call.SpanContext.SpanID() && len(asked.Links) == 0,
					"got parent %v and links %v, want the call %v", asked.Parent, asked.Links, call.SpanContext)
			})
		}
	}
}

func TestNamesAndResources(t *testing.T) {
	r := newRecorder(t)
	c, _ := connect(t, t.Context(), r.install(eras["legacy"]), func(m message) string {
		switch m.Method {
		case "prompts/get":
			return `{"messages":[]}`
		case "resources/read":
			return `{"contents":[]}`
		}
		return ""
	})
	check.NoError(t, check.Err(c.GetPrompt(t.Context(), "greet", nil)))
	check.NoError(t, check.Err(c.ReadResource(t.Context(), "file:///r")))
	const prompt = "gen_ai.prompt.name=greet jsonrpc.request.id=2 mcp.method.name=prompts/get mcp.protocol.version=2025-11-25"
	check.Equal(t, "prompt", text(r.span("prompts/get greet").Attributes), prompt)
	const resource = "jsonrpc.request.id=3 mcp.method.name=resources/read mcp.protocol.version=2025-11-25 mcp.resource.uri=file:///r"
	check.Equal(t, "resource", text(r.span("resources/read").Attributes), resource)
	want := map[string]uint64{
		"mcp.method.name=initialize":                                                           1,
		"mcp.method.name=notifications/initialized":                                            1,
		"gen_ai.prompt.name=greet mcp.method.name=prompts/get mcp.protocol.version=2025-11-25": 1,
		"mcp.method.name=resources/read mcp.protocol.version=2025-11-25":                       1,
	}
	check.Same(t, "durations", r.points("mcp.client.operation.duration"), want)
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		answer, kind, code string
		measured           string // the error.type of the duration, kind if it is ""
		failed             bool   // the call failed, too, and not only the tool
	}{
		"tool":             {`{"content":[], "isError" : true}`, "tool_error", "", "", false},
		"not isError":      {`{"content":[{"type":"text","text":"\"isError\":true"}],"isError":false,"structuredContent":{"isError":true}}`, "", "", "", false},
		"code":             {`{"id":%s,"error":{"code":-32602,"message":"secret","data":"secret"}}`, "-32602", "-32602", "", true},
		"strange code":     {`{"id":%s,"error":{"code":123456,"message":"secret"}}`, "123456", "123456", "_OTHER", true},
		"not the protocol": {`{"id":%s,"result":{"resultType":"secret"}}`, "invalid_result", "", "", true},
		"silence":          {"", "timeout", "", "", true},
		"hung up":          {"hang up", "connection_closed", "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder(t)
				var conn transport.Conn
				c, conn := connect(t, t.Context(), r.install(eras["modern"]), func(m message) string {
					switch {
					case test.answer == "hang up":
						_ = conn.Close()
						return ""
					case strings.HasPrefix(test.answer, `{"id"`):
						return fmt.Sprintf(test.answer, m.ID)
					}
					return test.answer
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				check.Equal(t, "failed", check.Err(c.CallTool(ctx, "a", nil)) != nil, test.failed)
				span := r.span("tools/call a")
				got := text(span.Attributes)
				for key, want := range map[string]string{"error.type": test.kind, "rpc.response.status_code": test.code} {
					has := strings.Contains(got, key+"=")
					check.That(t, has == (want != "") && (!has || strings.Contains(got+" ", key+"="+want+" ")), "got %s, want %s=%s", got, key, want)
				}
				check.Equal(t, "status of a failure", span.Status.Code == codes.Error, test.kind != "")
				said := fmt.Sprint(span.Status, span.Events, got)
				check.That(t, span.Status.Description == "" && !strings.Contains(said, "secret"), "got %s, want nothing that the server said", said)
				want := "gen_ai.operation.name=execute_tool gen_ai.tool.name=a mcp.method.name=tools/call mcp.protocol.version=2026-07-28"
				if kind := cmp.Or(test.measured, test.kind); kind != "" {
					want = "error.type=" + kind + " " + want
				}
				if test.code != "" && test.measured == "" {
					want += " rpc.response.status_code=" + test.code
				}
				check.Equal(t, want, r.points("mcp.client.operation.duration")[want], 1)
				_ = c.Close()
				_ = conn.Close()
			})
		})
	}
}

// A span has the handler's error for the server.
func TestHandlerFails(t *testing.T) {
	for want, err := range map[string]error{
		"error.type=-32602 mcp.method.name=sampling/createMessage mcp.protocol.version=2025-11-25 rpc.response.status_code=-32602": &mcp.RPCError{Code: -32602, Message: "no"},
		"error.type=rejected mcp.method.name=sampling/createMessage mcp.protocol.version=2025-11-25":                               fmt.Errorf("no: %w", mcp.ErrRejected),
		"error.type=_OTHER mcp.method.name=sampling/createMessage mcp.protocol.version=2025-11-25":                                 fmt.Errorf("not for the server: %w", &mcp.RPCError{Code: -32602}),
		"error.type=-32603 mcp.method.name=sampling/createMessage mcp.protocol.version=2025-11-25 rpc.response.status_code=-32603": nil, // a panic
	} {
		r, opts := newRecorder(t), eras["legacy"]
		opts.Sampling = mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if err == nil {
				panic("oops")
			}
			return nil, err
		})
		answered := make(chan bool, 1)
		_, conn := connect(t, t.Context(), r.install(opts), func(m message) string {
			if m.Method == "" {
				answered <- true
			}
			return ""
		})
		check.Must(t, conn.Send(t.Context(), []byte(`{"id":1,"method":"sampling/createMessage","params":`+fmt.Sprintf(question, "{}")+`}`)))
		<-answered
		check.Same(t, err, r.points("mcp.server.operation.duration"), map[string]uint64{want: 1})
		check.Equal(t, err, r.span("sampling/createMessage").Status.Code, codes.Error)
	}
}

// A question that waits for its answer has not failed.
func TestQuestionWaits(t *testing.T) {
	r, opts := newRecorder(t), eras["modern"]
	opts.Sampling = mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return nil, fmt.Errorf("ask Ann: %w", mcp.ErrAnswerLater)
	})
	client, _ := connect(t, t.Context(), r.install(opts), asker(func(map[string]json.RawMessage) string { return "{}" }))
	check.Fails(t, check.Err(client.CallTool(t.Context(), "sum", nil)), "a call that waits")
	for _, name := range []string{"sampling/createMessage", "tools/call sum"} {
		check.Equal(t, name, r.span(name).Status.Code, codes.Unset)
	}
}

// A server with many methods does not create as many metric series.
func TestUnknownMethods(t *testing.T) {
	r, answered := newRecorder(t), make(chan bool)
	_, conn := connect(t, t.Context(), r.install(eras["legacy"]), func(m message) string {
		if m.Method == "" {
			answered <- true
		}
		return ""
	})
	for i := range 3 {
		check.Must(t, conn.Send(t.Context(), fmt.Appendf(nil, `{"id":%d,"method":"acme/%d"}`, i, i)))
		<-answered
	}
	want := map[string]uint64{"error.type=-32601 mcp.method.name=_OTHER mcp.protocol.version=2025-11-25 rpc.response.status_code=-32601": 3}
	check.Same(t, "", r.points("mcp.server.operation.duration"), want)
	for _, span := range r.spans.GetSpans() {
		check.Equal(t, span.Name, strings.HasPrefix(span.Name, "acme"), false)
	}
}

// A panic ends the span with a failure.
func TestPanic(t *testing.T) {
	r, opts := newRecorder(t), eras["modern"]
	opts.Middleware = []mcpclient.Middleware{func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, q *mcpclient.Request) (json.RawMessage, error) {
			if q.Method == "tools/call" {
				panic("oops")
			}
			return next(ctx, q)
		}
	}}
	c, _ := connect(t, t.Context(), r.install(opts), func(message) string { return "" })
	check.Fails(t, check.Err(c.CallTool(t.Context(), "a", nil)))
	check.Contains(t, "", text(r.span("tools/call a").Attributes), "error.type=panic")
}

// Over HTTP, spans have the server's address, and not the session id.
func TestHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun := newRecorder(t), 0
		s := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			var m message
			raw, _ := io.ReadAll(req.Body)
			_ = json.Unmarshal(raw, &m)
			reply, first := handshake(m)
			switch {
			case first:
				begun++
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("secret-", begun))
			case m.Method == "tools/list" && req.Header.Get("Mcp-Session-Id") == "secret-1":
				w.WriteHeader(http.StatusNotFound)
				return
			case m.Method == "tools/call":
				w.WriteHeader(http.StatusInternalServerError)
				return
			case m.Method == "tools/list":
				reply = `{"tools":[]}`
			case req.Method == http.MethodGet:
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			default:
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"id":%s,"result":%s}`, m.ID, reply)
		}))
		defer s.Close()
		opts := r.install(eras["legacy"])
		c := check.Value(mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: s.URL() + "/mcp?key=hidden", Client: s.Client()}, opts))(t)
		check.NoError(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)))
		check.Fails(t, check.Err(c.CallTool(t.Context(), "a", nil)), "status 500")
		_ = c.Close()
		<-c.Done()

		where := "network.protocol.name=http network.transport=tcp"
		at := "server.address=" + c.Transport().(*mcpclient.HTTP).URL
		at = strings.TrimSuffix(strings.Replace(at, "http://", "", 1), "/mcp?key=hidden")
		if host, port, ok := strings.Cut(at, ":"); ok {
			at = host + " server.port=" + port
		} else {
			at += " server.port=80"
		}
		for name, wants := range map[string][]string{
			"tools/list":   {where, at, "mcp.protocol.version=2025-11-25"},
			"tools/call a": {where, at, "error.type=500"},
		} {
			got := text(r.span(name).Attributes)
			for _, want := range wants {
				check.Contains(t, name, got, want)
			}
			check.That(t, !strings.Contains(got, "secret-") && !strings.Contains(got, "hidden"), "%s: got %s", name, got)
		}
		for point := range r.points("mcp.client.operation.duration") {
			check.That(t, !strings.Contains(point, "session.id") && !strings.Contains(point, "hidden"), "the duration says %s", point)
		}
	})
}

// A child process is reached over pipes.
func TestPipes(t *testing.T) {
	r := newRecorder(t)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	defer func() { _ = toClient.Close() }()
	go func() {
		conn, err := (&mcpclient.IO{Reader: fromClient, Writer: toClient}).Dial(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		serve(conn, func(message) string { return "{}" })
		_ = conn.Close()
	}()
	c := check.Value(mcpclient.Connect(t.Context(), &mcpclient.IO{Reader: fromServer, Writer: toServer}, r.install(eras["modern"])))(t)
	_ = c.Close()
	check.Contains(t, "", text(r.span("server/discover").Attributes), "network.transport=pipe")
}

// A closed subscription has not failed.
func TestSubscription(t *testing.T) {
	r := newRecorder(t)
	transport, conn := mcpclient.Pipe()
	defer func() { _ = conn.Close() }()
	go serve(conn, func(m message) string {
		if m.Method != "subscriptions/listen" {
			return ""
		}
		_ = conn.Send(context.Background(), fmt.Appendf(nil, `{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID))
		return ""
	})
	opts := r.install(eras["modern"])
	opts.Protocol.AllowUndeclared = true
	c := check.Value(mcpclient.Connect(t.Context(), transport, opts))(t)
	s := check.Value(c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}))(t)
	check.NoError(t, errors.Join(s.Close(), c.Close()))
	<-c.Done() // Close does not wait for middleware
	if span := r.span("subscriptions/listen"); span.Status.Code != codes.Unset || strings.Contains(text(span.Attributes), "error.type") {
		t.Errorf("got %v, %s", span.Status, text(span.Attributes))
	}
}

// Without options the global providers are used. They do nothing by default.
func TestDefaults(t *testing.T) {
	sent, served, err := otelmcp.New(nil)
	check.Must(t, err)
	opts := sampler(eras["modern"], func(context.Context) {})
	opts.Middleware = []mcpclient.Middleware{sent}
	opts.ServerMiddleware = []mcpclient.Middleware{served}
	var meta map[string]json.RawMessage
	c, _ := connect(t, t.Context(), &opts, asker(func(of map[string]json.RawMessage) string { meta = of; return "{}" }))
	check.NoError(t, check.Err(c.CallTool(t.Context(), "ask", nil)))
	check.Equal(t, "trace context", string(meta["traceparent"]), "")
}
