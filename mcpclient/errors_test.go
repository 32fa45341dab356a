package mcpclient_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

func TestErrorTexts(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	for want, err := range map[string]error{
		"server error -32601: no such method": &mcpclient.RPCError{Code: -32601, Message: "no such method"},
		`tool "t" failed: out of paper`:       &mcpclient.ToolError{Tool: "t", Result: result("out of paper\n")},
		`tool "t" failed: no reason given`:    &mcpclient.ToolError{Tool: "t", Result: result(" ")},
		"POST http://h/mcp: HTTP status 429 (retry after 7s): \"slow \\\"down\\\"\"": &mcpclient.HTTPError{
			Method: "POST", URL: "http://h/mcp", Status: 429, RetryAfter: 7 * time.Second, Body: `slow "down"`},
		"GET http://h/mcp: HTTP status 404":  &mcpclient.HTTPError{Method: "GET", URL: "http://h/mcp", Status: 404},
		"POST http://h/mcp: HTTP status 413": &mcpclient.HTTPError{Method: "POST", URL: "http://h/mcp", Status: 413},
		"POST http://h/mcp: HTTP status 431 (the header is too large on the way to the server: tools may have arguments repeated there, see x-mcp-header)": &mcpclient.HTTPError{
			Method: "POST", URL: "http://h/mcp", Status: 431},
		"tools/call: the server does not offer tools":                                     &mcpclient.CapabilityError{Method: "tools/call", Capability: "tools"},
		"no common protocol revision: the client speaks a, b, the server c":               &mcpclient.RevisionError{Client: []string{"a", "b"}, Server: []string{"c"}},
		"no common protocol revision: the client speaks a, the server none that it names": &mcpclient.RevisionError{Client: []string{"a"}},
		`server "s": exit status 3; its last lines on stderr:` + "\nno cheese":            &mcpclient.ProcessError{Command: "s", Status: "exit status 3", Stderr: "no cheese"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, err := range []error{
		&mcpclient.RPCError{Message: long}, &mcpclient.ToolError{Result: result(long)},
		&mcpclient.HTTPError{Body: strings.Repeat("\x00", 1000)}, &mcpclient.RevisionError{Server: []string{long}},
	} {
		if got := err.Error(); len(got) > 5000 || !strings.HasPrefix(strings.ToValidUTF8(got, "?"), got) {
			t.Errorf("%T: got %d bytes", err, len(got))
		}
	}
}

func result(text string) *mcpclient.CallToolResult {
	return &mcpclient.CallToolResult{IsError: true, Content: []mcpclient.Content{&mcpclient.TextContent{Text: text}}}
}

func TestDisplayName(t *testing.T) {
	annotated := &mcpclient.ToolAnnotations{Title: "annotated"}
	for want, tool := range map[string]*mcpclient.Tool{
		"title":     {Name: "name", Title: "title", Annotations: annotated},
		"annotated": {Name: "name", Annotations: annotated},
		"name":      {Name: "name", Annotations: &mcpclient.ToolAnnotations{}},
	} {
		if got := tool.DisplayName(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
