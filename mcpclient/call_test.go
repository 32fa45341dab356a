package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func TestProgress(t *testing.T) {
	playAll(t, bothEras(conversation{name: "progress", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		var got []mcp.Progress
		callText(t, ctx, c, "slow", "done", mcpclient.WithMeta("trace", json.RawMessage(`"t"`)),
			mcpclient.WithProgress(func(p mcp.Progress) { got = append(got, p) }))
		three := 3.0
		check.Same(t, "", got, []mcp.Progress{{Progress: 1, Total: &three, Message: "one"}, {Progress: 2.5}, {Progress: 3}})
		callText(t, ctx, c, "slow", "done", mcpclient.WithProgress(func(p mcp.Progress) { t.Errorf("got %+v of a call that is over", p) }))
	}}))
}

func TestCustomMessages(t *testing.T) {
	do := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		params := json.RawMessage(`{"x": [1], "_meta": {"a": 1, "b": 0}}`)
		raw, err := c.Call(ctx, "acme/do", params, mcpclient.WithMeta("b", json.RawMessage("2")), mcpclient.WithProgress(func(mcp.Progress) {}))
		check.That(t, err == nil && string(raw) == `{"y":1}`, "got %s, %v", raw, err)
		for _, key := range []string{"progressToken", "io.modelcontextprotocol/clientInfo", "com.mcp.tools/x", "a b", "example-/x"} {
			check.Text(t, check.Err(c.Call(ctx, "acme/do", nil, mcpclient.WithMeta(key, json.RawMessage("1")))), key, "WithMeta")
			check.Text(t, check.Err(c.Call(ctx, "acme/do", map[string]any{"_meta": map[string]any{key: 1}})), key, "_meta")
		}
		for name, params := range map[string]any{"_meta that is not an object": map[string]any{"_meta": 1}, "array": []int{1}, "broken": json.RawMessage("{")} {
			check.Fails(t, check.Err(c.Call(ctx, "acme/do", params)), name)
		}
		check.Fails(t, check.Err(c.Call(ctx, "acme/do", nil, mcpclient.WithMeta("a", json.RawMessage("{")))), "broken value of WithMeta")
		check.Fails(t, check.Err(c.Call(ctx, "acme/do", nil, mcpclient.WithLogLevel("loud"))), "unknown log level")
	}
	playAll(t, []conversation{
		{name: "custom", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			do(t, ctx, c)
			raw, err := c.Call(ctx, "acme/do", nil)
			check.That(t, err == nil && string(raw) == "true", "got %s, %v", raw, err)
			check.NoError(t, c.Notify(ctx, "acme/happened", map[string]any{"z": nil}))
			check.NoError(t, check.Err(c.Call(ctx, "acme/do", json.RawMessage("null"), mcpclient.WithMeta("k", json.RawMessage("\n\"<&>\"\n")))))
		}},
		{name: "custom_modern", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			do(t, ctx, c)
			check.NoError(t, check.Err(c.Call(ctx, "tools/call", map[string]any{"name": "t", "requestState": "mine", "inputResponses": map[string]any{"k": struct{}{}}})))
		}},
	})
}

// giveUp ends one call by its context and one by its timeout.
func giveUp(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	for i := range 2 {
		short, cancel := context.WithCancel(ctx)
		returned := background(func() error {
			return check.Err(c.CallTool(short, "slow", nil, mcpclient.WithTimeout(3*time.Second*time.Duration(i))))
		})
		want := context.DeadlineExceeded
		if i == 0 {
			synctest.Wait()
			cancel()
			want = context.Canceled
		}
		start := time.Now()
		err := <-returned
		check.That(t, errors.Is(err, want) && strings.HasPrefix(err.Error(), `call tool "slow": `), "got %v, want %v", err, want)
		check.Equal(t, "the call returned after", time.Since(start), time.Duration(i)*3*time.Second)
		cancel()
		synctest.Wait()
		if i == 0 {
			time.Sleep(2 * time.Second)
			callText(t, ctx, c, "next", "fine")
		}
	}
}

func TestCancel(t *testing.T) {
	playAll(t, []conversation{
		{name: "cancel_legacy", opts: legacy(), play: giveUp},
		{name: "cancel_modern", way: "pipe", opts: modern(), play: giveUp},
		{name: "cancel_modern_http", way: "json", opts: modern(), play: giveUp},
		{name: "cancel_modern_http", way: "stream", opts: modern(), play: giveUp},
	})
}

// A call whose context has ended sends nothing.
func TestCancelledBefore(t *testing.T) {
	playAll(t, []conversation{{name: "capabilities", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		over, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("the user left"))
		wantBoth(t, check.Err(c.Call(over, "acme/do", nil)), context.Canceled, "the user left")
		ping(t, ctx, c)
	}}})
}

// A modern server may refuse the revision at any time, or require a capability. The caller gets the error; nothing is repeated.
func TestModernRefusals(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		for code, data := range map[int]string{
			mcp.CodeUnsupportedRevision: `{"supported":["2027-01-01"],"requested":"2026-07-28"}`,
			mcp.CodeMissingCapability:   `{"requiredCapabilities":{"sampling":{}}}`,
			mcp.CodeHeaderMismatch:      `{}`, // a connection without headers cannot send better ones
		} {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no","data":%s}}`, code, data)
			e := wantError[*mcp.RPCError](t, check.Err(c.CallTool(t.Context(), "a", nil)))
			check.That(t, e.Code == code && string(e.Data) == data, "got %v with %s, want code %d with %s", e, e.Data, code, data)
			p.quiet()
		}
	})
}

// Nil arguments are errors, not panics.
func TestNilArguments(t *testing.T) {
	eachPeer(t, func(t *testing.T, name string, c *mcpclient.Client, p *peer) {
		go p.echo()
		for want, call := range map[string]func() error{
			"no tool":           func() error { return check.Err(c.StartTask(t.Context(), nil, nil, 0)) },
			"no params":         func() error { return check.Err(c.Complete(t.Context(), nil)) },
			"no round":          func() error { return check.Err(mcpclient.Continue[mcp.CallToolResult](t.Context(), c, nil, nil)) },
			"tools[0]: no tool": func() error { return c.AddToolDefinitions(nil) },
		} {
			check.Text(t, call(), want+" (nil)")
		}
		check.NoError(t, check.Err(c.CallTool(t.Context(), "a", nil, nil)), "an option that is nil")
	})
}

// Server SDKs refuse with texts of their own to send requests in the modern era. The caller of such a tool gets advice.
func TestToolThatMayNotAsk(t *testing.T) {
	const advice = "connect with 2025-11-25, by Options.Protocol.Revision"
	for name, tt := range map[string]struct {
		text  string
		known bool
	}{
		"mcp-go":  {`\"elicitation/create\": server-initiated requests are not supported in protocol version 2026-07-28`, true},
		"go-sdk":  {`\"sampling/createMessage\" cannot be sent while serving a request on protocol version 2026-07-28: return an InputRequests map instead (multi round-trip requests, SEP-2322)`, true},
		"refused": {"calling roots/list: this revision has no requests of the server: the server asks by the result input_required", true},
		"other":   {"disk full", false},
	} {
		for era, opts := range eras() {
			for kind, answer := range map[string]string{
				"result": `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],"isError":true}}`,
				"error":  `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s"}}`,
			} {
				peerBubble(t, name+"/"+era+"/"+kind, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
					go p.reply(answer, tt.text)
					result, err := c.CallTool(t.Context(), "asks", nil)
					if err == nil {
						err = result.Err()
					}
					want := tt.known && era == "modern"
					if got := inquiry.Advice(err); strings.Contains(got, advice) != want || strings.Contains(fmt.Sprint(err), advice) != want {
						t.Errorf("got %v and the advice %q, want one: %v", err, got, want)
					}
				})
			}
		}
	}
}

func TestErrorTexts(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	failed := func(text string) error {
		r := &mcp.CallToolResult{Tool: "t", IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
		return &mcp.ToolError{Result: r}
	}
	for want, err := range map[string]error{
		"server error -32601: no such method": &mcp.RPCError{Code: -32601, Message: "no such method"},
		`tool "t" failed: out of paper`:       failed("out of paper\n"),
		`tool "t" failed: no reason given`:    failed(" "),
		"POST http://h/mcp: HTTP status 429 (retry after 7s): \"slow \\\"down\\\"\"": &transport.HTTPError{
			Method: "POST", URL: "http://h/mcp", Status: 429, RetryAfter: 7 * time.Second, Body: `slow "down"`},
		"GET http://h/mcp: HTTP status 404":  &transport.HTTPError{Method: "GET", URL: "http://h/mcp", Status: 404},
		"POST http://h/mcp: HTTP status 413": &transport.HTTPError{Method: "POST", URL: "http://h/mcp", Status: 413},
		"POST http://h/mcp: HTTP status 431 (the header is too large on the way to the server: tools may have arguments repeated there, see x-mcp-header)": &transport.HTTPError{
			Method: "POST", URL: "http://h/mcp", Status: 431},
		"no common protocol revision: the client speaks a, b, the server c d":             &mcpclient.RevisionError{ClientRevisions: []string{"a", "b"}, ServerRevisions: []string{"\x1bc\nd"}},
		"no common protocol revision: the client speaks a, the server none that it names": &mcpclient.RevisionError{ClientRevisions: []string{"a"}},
		`server "s": exit status 3; it wrote to stderr:` + "\nno cheese":                  &transport.ProcessError{Command: "s", Status: "exit status 3", Stderr: "no cheese"},
	} {
		check.Equal(t, "", err.Error(), want)
	}
	for _, err := range []error{
		&mcp.RPCError{Message: long}, failed(long),
		&transport.HTTPError{Body: strings.Repeat("\x00", 1000)}, &mcpclient.RevisionError{ServerRevisions: []string{long}},
	} {
		got := err.Error()
		check.That(t, len(got) <= 5000 && strings.HasPrefix(strings.ToValidUTF8(got, "?"), got), "%T: got %d bytes", err, len(got))
	}
}

// everyRequest makes each kind of request of a client, except those about a task.
func everyRequest(ctx context.Context, c *mcpclient.Client) map[string]error {
	errs := map[string]error{"Ping": c.Ping(ctx), "SetLogLevel": c.SetLogLevel(ctx, "info")}
	_, errs["Tools"] = collect(c.Tools(ctx), toolName)
	_, errs["ToolsPage"] = mcpclient.ListPage[mcp.Tool](ctx, c, nil)
	_, errs["CallTool"] = c.CallTool(ctx, "t", nil)
	_, errs["StartTask"] = c.StartTask(ctx, &mcp.Tool{Name: "t", Execution: json.RawMessage(`{"taskSupport":"optional"}`)}, nil, 0)
	_, errs["Prompts"] = collect(c.Prompts(ctx), promptName)
	_, errs["PromptsPage"] = mcpclient.ListPage[mcp.Prompt](ctx, c, nil)
	_, errs["GetPrompt"] = c.GetPrompt(ctx, "p", nil)
	_, errs["Resources"] = collect(c.Resources(ctx), resourceURI)
	_, errs["ResourcesPage"] = mcpclient.ListPage[mcp.Resource](ctx, c, nil)
	_, errs["ResourceTemplates"] = collect(c.ResourceTemplates(ctx), templateURI)
	_, errs["ResourceTemplatesPage"] = mcpclient.ListPage[mcp.ResourceTemplate](ctx, c, nil)
	_, errs["ReadResource"] = c.ReadResource(ctx, "file:///r")
	_, errs["Complete"] = c.Complete(ctx, &mcp.CompleteParams{Prompt: "p", Argument: "a"})
	_, errs["Subscribe"] = c.Subscribe(ctx, mcp.SubscriptionFilter{Resources: []string{"file:///r"}})
	_, errs["List"] = collect(mcpclient.List[struct{}](ctx, c, "skills/list", "skills"), func(*struct{}) string { return "" })
	_, errs["Call"] = c.Call(ctx, "prompts/list", nil)
	_, errs["Call of a method with two capabilities"] = c.Call(ctx, "resources/subscribe", map[string]string{"uri": "file:///r"})
	return errs
}

// An error names the operation exactly once.
func TestErrorsSayItOnce(t *testing.T) {
	once := func(t *testing.T, c *mcpclient.Client) {
		t.Helper()
		failed := 0
		errs := everyRequest(t.Context(), c)
		errs["Cancel"] = c.Task("1", "t").Cancel(t.Context())
		_, errs["Poll"] = c.Task("1", "t").Poll(t.Context())
		_, errs["Wait"] = c.Task("1", "t").Wait(t.Context())
		for name, err := range errs {
			if err == nil {
				continue // as of what the server is not asked
			}
			failed++
			parts := strings.Split(err.Error(), ": ")
			slices.Sort(parts)
			n := len(parts)
			check.That(t, len(slices.Compact(parts)) >= n, "%s: got %q, which says a thing twice", name, err)
		}
		check.That(t, failed >= 20, "got %d errors, want them of nearly all requests", failed)
	}
	for era, o := range eras() {
		for _, undeclared := range []bool{false, true} {
			o.Protocol.AllowUndeclared = undeclared
			peerBubble(t, fmt.Sprint(era, undeclared), o, func(t *testing.T, c *mcpclient.Client, p *peer) {
				go p.each(func(m message) {
					if m.ID != nil {
						p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"broken"}}`, m.ID)
					}
				})
				once(t, c)
			})
		}
		t.Run(era+"OverHTTP", func(t *testing.T) {
			overHTTP(t, undeclared(o), func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(http.StatusForbidden) }, once)
		})
	}
}

func TestDisplayName(t *testing.T) {
	annotated := &mcp.ToolAnnotations{Title: "annotated"}
	for want, tool := range map[string]*mcp.Tool{
		"title":     {Name: "name", Title: "title", Annotations: annotated},
		"annotated": {Name: "name", Annotations: annotated},
		"name":      {Name: "name", Annotations: &mcp.ToolAnnotations{}},
	} {
		check.Equal(t, "", tool.DisplayName(), want)
	}
}

// TestPathOfACall compares the list on the architecture page with the stack on which a connection gets a tool call.
func TestPathOfACall(t *testing.T) {
	_, section, _ := strings.Cut(string(check.Value(os.ReadFile("../docs/architecture.md"))(t)), "### The path of a call\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var documented []string // functions and their files
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `(\\w+)` \\(`([\\w.]+)`\\)").FindAllStringSubmatch(section, -1) {
		documented = append(documented, m[1]+" "+m[2])
	}
	n := len(documented)
	check.Require(t, n != 0 && n <= 10, "got a list of %d functions, want 1 to 10", n)
	middleware := changing(func(*mcpclient.Request) {})
	for name, over := range map[string]func(t *testing.T, o mcpclient.Options) []string{"a pipe": pathOverPipe, "HTTP": pathOverHTTP} {
		bubble(t, name, func(t *testing.T) {
			check.Same(t, "functions on the stack", over(t, mcpclient.Options{Middleware: []mcpclient.Middleware{middleware}}), documented)
			without := slices.DeleteFunc(slices.Clone(documented), func(f string) bool { return strings.HasPrefix(f, "withMiddleware ") })
			check.Same(t, "functions on the stack without middleware", over(t, mcpclient.Options{}), without)
		})
	}
}

// callers returns the functions of the client on this stack, the outermost first, down to exchange: those below it depend on the
// connection. Functions between two occurrences of the same function are left out: it passes them as callbacks.
func callers() (all []string) {
	const client = "github.com/mcpchain/mcpchain/mcpclient."
	var pcs [100]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		name, ours := strings.CutPrefix(frame.Function, client)
		if !ours || strings.HasSuffix(frame.File, "_test.go") {
			continue
		}
		parts := slices.DeleteFunc(strings.Split(name, "."), regexp.MustCompile(`^(func|gowrap)?[0-9]+$`).MatchString)
		f := parts[len(parts)-1] + " " + filepath.Base(frame.File) // the declared function that contains a literal
		if i := slices.Index(all, f); i >= 0 {
			all = all[:i]
		}
		all = append(all, f)
	}
	slices.Reverse(all)
	return all[:slices.IndexFunc(all, func(f string) bool { return strings.HasPrefix(f, "exchange ") })+1]
}

func pathOverPipe(t *testing.T, o mcpclient.Options) (got []string) {
	way, p := newPeer(t)
	go func() { p.handshake(); p.echo() }()
	callText(t, t.Context(), connected(t, &hooked{Transport: way, send: func(ctx context.Context, conn transport.Conn, message []byte) error {
		if strings.Contains(string(message), `"tools/call"`) {
			got = callers()
		}
		return conn.Send(ctx, message)
	}}, o), "sum", "sum")
	return got
}

func pathOverHTTP(t *testing.T, o mcpclient.Options) (got []string) {
	server := httpServer(t, answerCall)
	callText(t, t.Context(), connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), WrapTransport: watched(func(r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			got = callers()
		}
	})}, o), "sum", "sum")
	return got
}

func TestUndeclaredCapabilities(t *testing.T) {
	refused := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		errs := everyRequest(ctx, c)
		check.NoError(t, errs["Ping"])
		delete(errs, "Ping")
		for name, err := range errs {
			check.Is(t, err, mcpclient.ErrUndeclared, name)
			check.Text(t, err, "the server does not offer ", name)
		}
	}
	playAll(t, []conversation{
		{name: "capabilities", opts: legacy(), play: refused},
		{name: "capabilities_none_modern", opts: modern(), play: refused},
	})
}

// exact replaces the capabilities of the handlers.
const exact = `{"sampling":{"tools":{}}, "elicitation":{"url":{}}, "roots":{},
	"extensions":{"com.example/x":{"n":1}}, "experimental":{"e":{}}}`

func TestExactCapabilities(t *testing.T) {
	opts := declaring(exact)
	opts.Protocol.ExactCapabilities = true
	playAll(t, bothEras(conversation{name: "capabilities_exact", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "ask", "done")
		check.NoError(t, c.SetRoots(ctx, nil)) // not announced, as listChanged is not declared
		want := map[string]string{mcp.Revision20260728: "Options.Protocol.Capabilities does not declare the extension io.modelcontextprotocol/tasks"}
		check.Text(t, check.Err(c.StartTask(ctx, &mcp.Tool{Name: "t"}, nil, 0)), want[c.Server().Revision], "a task without the extension")
	}}))
}

// declaring returns handlers and what they are declared to do.
func declaring(capabilities string) mcpclient.Options {
	return asks(mcpclient.Options{Protocol: mcpclient.Protocol{Capabilities: json.RawMessage(capabilities)}})
}

// Handlers add to the declared capabilities: changed roots are announced, and calls become tasks, though neither was declared.
func TestCapabilitiesAreAdded(t *testing.T) {
	opts := declaring(`{"sampling":{"tools":{}},"roots":null,"extensions":{"com.example/x":{"n":1}},"experimental":{"e":{}}}`)
	playAll(t, bothEras(conversation{name: "capabilities_added", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.NoError(t, c.SetRoots(ctx, nil))
		callText(t, ctx, c, "ask", "done", mcpclient.WithTask(&mcp.Tool{Name: "ask"}))
	}}))
}

// Declared capabilities and installed handlers must agree.
func TestCapabilitiesRefused(t *testing.T) {
	for _, opts := range []mcpclient.Options{legacy(), modern(), {}} {
		for declared, want := range map[string][]string{
			"{}":              {"Options.Sampling is set", "Options.Elicitation is set", "Options.Roots is set", "does not declare roots"},
			`{"sampling":{}}`: {"Options.Elicitation is set", "Options.Roots is set"},
			`{"sampling":null,"elicitation":{},"roots":{}}`: {"does not declare sampling"},
			"[]":                                    {"Options.Protocol.Capabilities: want a JSON object"},
			"{":                                     {"Options.Protocol.Capabilities: not valid JSON"},
			"null":                                  {"Options.Protocol.Capabilities: want a JSON object"},
			`{"sampling":1}`:                        {"Options.Protocol.Capabilities: json: cannot unmarshal"},
			`{"extensions":{"x":{}}}`:               {`extension "x": name needs a prefix, such as com.example/`},
			`{"extensions":{"com.example/x y":{}}}`: {`extension "com.example/x y": name must be`},
			`{"extensions":{"1.example/x":{}}}`:     {`extension "1.example/x": labels before the slash must be`},
		} {
			opts := asks(opts)
			opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage(declared), true
			wantRefused(t, opts, want...)
		}
		opts.Protocol.Capabilities, opts.Protocol.ExactCapabilities = json.RawMessage(exact), true
		wantRefused(t, opts, "declares sampling, and Options.Sampling is nil", "declares elicitation", "declares roots")
	}
}

// With AllowUndeclared, requests are sent and questions answered regardless of what was declared.
func TestAllowUndeclared(t *testing.T) {
	opts := undeclared(declaring("{}"))
	opts.Protocol.ExactCapabilities = true
	playAll(t, bothEras(conversation{name: "capabilities_relaxed", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "ask", "done")
		wantList(t, c.Prompts(ctx), promptName, nil)
		if c.Server().Revision == mcp.Revision20251125 {
			check.NoError(t, subscribed(t, ctx, c, onResources("file:///r", "file:///r")).Close())
			return
		}
		check.Equal(t, "", textOf(check.Value(c.StartTask(ctx, &mcp.Tool{Name: "ask"}, nil, 0))(t).Wait(ctx)), "done")
	}}))
}
