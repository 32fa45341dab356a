package mcpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func TestErrorTexts(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	failed := func(text string) error {
		r := result(text)
		r.Tool = "t"
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
		"the server does not offer tools":                                                 &mcpclient.CapabilityError{Capability: "tools"},
		"no common protocol revision: the client speaks a, b, the server c":               &mcpclient.RevisionError{Client: []string{"a", "b"}, Server: []string{"c"}},
		"no common protocol revision: the client speaks a, the server none that it names": &mcpclient.RevisionError{Client: []string{"a"}},
		`server "s": exit status 3; it wrote to stderr:` + "\nno cheese":                  &transport.ProcessError{Command: "s", Status: "exit status 3", Stderr: "no cheese"},
	} {
		equal(t, "", err.Error(), want)
	}
	for _, err := range []error{
		&mcp.RPCError{Message: long}, &mcp.ToolError{Result: result(long)},
		&transport.HTTPError{Body: strings.Repeat("\x00", 1000)}, &mcpclient.RevisionError{Server: []string{long}},
	} {
		got := err.Error()
		wrong(t, len(got) > 5000 || !strings.HasPrefix(strings.ToValidUTF8(got, "?"), got), "%T: got %d bytes", err, len(got))
	}
}

// everyRequest makes each kind of request of a client.
func everyRequest(ctx context.Context, c *mcpclient.Client) map[string]error {
	errs := map[string]error{
		"Ping":        c.Ping(ctx),
		"SetLogLevel": c.SetLogLevel(ctx, mcp.LogInfo),
		"Cancel":      c.Task("1", "t").Cancel(ctx),
	}
	_, errs["Tools"] = collect(c.Tools(ctx), toolName)
	_, errs["ToolsPage"] = mcpclient.ListPage[mcp.Tool](ctx, c, nil)
	_, errs["CallTool"] = c.CallTool(ctx, "t", nil)
	_, errs["StartTask"] = c.StartTask(ctx, &mcp.Tool{Name: "t"}, nil, 0)
	_, errs["Poll"] = c.Task("1", "t").Poll(ctx)
	_, errs["Wait"] = c.Task("1", "t").Wait(ctx)
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
	return errs
}

// An error names the operation exactly once.
func TestErrorsSayItOnce(t *testing.T) {
	once := func(t *testing.T, c *mcpclient.Client) {
		t.Helper()
		failed := 0
		for name, err := range everyRequest(t.Context(), c) {
			if err == nil {
				continue // as of what the server is not asked
			}
			failed++
			parts := strings.Split(err.Error(), ": ")
			slices.Sort(parts)
			n := len(parts)
			wrong(t, len(slices.Compact(parts)) < n, "%s: got %q, which says a thing twice", name, err)
		}
		wrong(t, failed < 19, "got %d errors, want them of nearly all requests", failed)
	}
	for era, o := range eras() {
		for _, undeclared := range []bool{false, true} {
			t.Run(fmt.Sprint(era, undeclared), func(t *testing.T) {
				o.Protocol.AllowUndeclared = undeclared
				inBubble(t, o, func(t *testing.T, c *mcpclient.Client, p *peer) {
					go func() {
						for m := p.next(); m.Method != ""; m = p.next() {
							if m.ID != nil {
								p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"broken"}}`, m.ID)
							}
						}
					}()
					once(t, c)
				})
			})
		}
		t.Run(era+"OverHTTP", func(t *testing.T) {
			o.Protocol.AllowUndeclared = true
			synctest.Test(t, func(t *testing.T) {
				s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(http.StatusForbidden) })
				c := connectTo(t, s, o)
				once(t, c)
			})
		})
	}
}

func result(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func TestDisplayName(t *testing.T) {
	annotated := &mcp.ToolAnnotations{Title: "annotated"}
	for want, tool := range map[string]*mcp.Tool{
		"title":     {Name: "name", Title: "title", Annotations: annotated},
		"annotated": {Name: "name", Annotations: annotated},
		"name":      {Name: "name", Annotations: &mcp.ToolAnnotations{}},
	} {
		equal(t, "", tool.DisplayName(), want)
	}
}
