//lint:file-ignore SA1019 deprecated features are tested as long as servers use them

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	testpeer "github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// goStateless does not end the calls of a client that closes their streams.
var goSDK, goStateless = peer{name: "go-sdk"}, peer{name: "go-sdk", ignoresCancel: true}

// goServer makes a server with the official Go SDK for the whole scenario. A
// page of its lists has three items. stop ends the waiting tool.
func goServer(stop context.Context) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "go-sdk", Version: "1.8.0"}, &sdk.ServerOptions{
		PageSize:           3,
		CompletionHandler:  completeName,
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	for i := range 8 {
		addFiller(s, i)
	}
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "adds two numbers"}, add)
	s.AddTool(&sdk.Tool{Name: "think", InputSchema: &jsonschema.Schema{Type: "object"}}, think)
	s.AddTool(&sdk.Tool{Name: "ask", InputSchema: &jsonschema.Schema{Type: "object"}}, ask)
	s.AddTool(&sdk.Tool{Name: "where", InputSchema: &jsonschema.Schema{Type: "object"}}, where)
	sdk.AddTool(s, &sdk.Tool{Name: "count"}, count)
	sdk.AddTool(s, &sdk.Tool{Name: "change"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		addFiller(s, 0)
		return nil, nil, s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: notes})
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("out of paper")
	})
	events := make(waits, 8)
	sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, events.wait(ctx, stop)
	})
	sdk.AddTool(s, &sdk.Tool{Name: "heard"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		text, err := events.next(ctx, stop)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, err
	})
	s.AddResource(&sdk.Resource{URI: notes, Name: "notes", MIMEType: "text/plain"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "buy milk"}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "note:///{name}", Name: "note"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		text := "note " + strings.TrimPrefix(req.Params.URI, "note:///")
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: text}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "name", Required: true}}}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		text := &sdk.TextContent{Text: "Greet " + req.Params.Arguments["name"]}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: text}}}, nil
	})
	return s
}

// waits are the results of calls of the waiting tool, for another tool to return. Results are dropped without a reader.
type waits chan string

func (w waits) add(event string) {
	select {
	case w <- event:
	default:
	}
}

// wait waits until the call is cancelled, or the server stops.
func (w waits) wait(ctx, stop context.Context) error {
	w.add("waiting")
	select {
	case <-ctx.Done():
		w.add("cancelled")
	case <-stop.Done():
	}
	return errors.New("gave up waiting")
}

func (w waits) next(ctx, stop context.Context) (string, error) {
	select {
	case event := <-w:
		return event, nil
	case <-stop.Done():
		return "", stop.Err()
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func addFiller(s *sdk.Server, i int) {
	sdk.AddTool(s, &sdk.Tool{Name: fmt.Sprintf("filler_%d", i)}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
}

func completeName(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	if !strings.HasPrefix("Ada", req.Params.Argument.Value) {
		return &sdk.CompleteResult{}, nil
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{"Ada"}}}, nil
}

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

func add(_ context.Context, _ *sdk.CallToolRequest, args addArgs) (*sdk.CallToolResult, sum, error) {
	return nil, sum{args.A + args.B}, nil
}

// think, ask and where ask the client's model, the person, and for roots. The SDK turns the question into a request of the
// server in the legacy era.
var (
	think = askFor("thought", "thinking", &sdk.CreateMessageParams{
		MaxTokens: 64,
		Messages:  []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "What now?"}}},
	})
	ask = askFor("color", "", &sdk.ElicitParams{
		Message: "Which colour?",
		RequestedSchema: &jsonschema.Schema{
			Type:       "object",
			Properties: map[string]*jsonschema.Schema{"color": {Type: "string"}, "shade": {Type: "string", Default: json.RawMessage(`"dark"`)}},
			Required:   []string{"color"},
		},
	})
	where = askFor("roots", "", &sdk.ListRootsParams{})
)

func askFor(name, state string, question sdk.InputRequest) sdk.ToolHandler {
	return func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := req.Params.InputResponses[name]
		if !ok {
			return &sdk.CallToolResult{RequestState: state, InputRequests: sdk.InputRequestMap{name: question}}, nil
		}
		raw, err := json.Marshal(answer)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(raw)}}}, err
	}
}

func count(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
	for i := 1; i <= 3; i++ {
		err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Total: 3,
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "counted"}}}, nil, nil
}

func goHTTP(t *testing.T, opts *sdk.StreamableHTTPOptions) mcpclient.Transport {
	server := goServer(t.Context())
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, opts)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &mcpclient.HTTP{URL: s.URL}
}

// goPipe serves goServer over a pair of pipes, framed like stdio.
func goPipe(t *testing.T) mcpclient.Transport { return testpeer.Connect(t, goServer(t.Context())) }

func serveGo() int {
	if err := goServer(context.Background()).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// TestGoSDK has the server of the official Go SDK as its peer. Over HTTP that
// server speaks the modern era only if it is stateless.
func TestGoSDK(t *testing.T) {
	t.Parallel()
	stateless := &sdk.StreamableHTTPOptions{Stateless: true}
	t.Run("probed", func(t *testing.T) {
		t.Run("pipe", func(t *testing.T) { scenario(t, goSDK, goPipe(t), "", mcp.Revision20260728) })
		t.Run("stdio", func(t *testing.T) { scenario(t, goSDK, roleCommand(t, "go-sdk"), "", mcp.Revision20260728) })
		t.Run("http", func(t *testing.T) { scenario(t, goSDK, goHTTP(t, nil), "", mcp.Revision20251125) })
		t.Run("http stateless", func(t *testing.T) { scenario(t, goStateless, goHTTP(t, stateless), "", mcp.Revision20260728) })
	})
	t.Run("2026-07-28", func(t *testing.T) {
		const revision = mcp.Revision20260728
		t.Run("pipe", func(t *testing.T) { scenario(t, goSDK, goPipe(t), revision, revision) })
		t.Run("stdio", func(t *testing.T) { scenario(t, goSDK, roleCommand(t, "go-sdk"), revision, revision) })
		t.Run("http", func(t *testing.T) { scenario(t, goStateless, goHTTP(t, stateless), revision, revision) })
	})
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105} {
		t.Run(revision, func(t *testing.T) {
			t.Run("pipe", func(t *testing.T) { scenario(t, goSDK, goPipe(t), revision, revision) })
			t.Run("stdio", func(t *testing.T) { scenario(t, goSDK, roleCommand(t, "go-sdk"), revision, revision) })
			t.Run("http", func(t *testing.T) { scenario(t, goSDK, goHTTP(t, nil), revision, revision) })
		})
	}
}

func goSSE(t *testing.T) string {
	server := goServer(t.Context())
	s := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

// TestGoSDKOverSSE has the official Go SDK's server of the oldest HTTP
// transport as its peer, with SSE, and with HTTP by its fallback.
func TestGoSDKOverSSE(t *testing.T) {
	t.Parallel()
	p := peer{name: "go-sdk"}
	t.Run("direct", func(t *testing.T) {
		scenario(t, p, &mcpclient.HTTP{URL: goSSE(t), SSE: true}, mcp.Revision20241105, mcp.Revision20241105)
	})
	t.Run("fallback", func(t *testing.T) { scenario(t, p, &mcpclient.HTTP{URL: goSSE(t)}, "", mcp.Revision20251125) })
}

// TestServerEverythingOverSSE has the reference server as its peer.
func TestServerEverythingOverSSE(t *testing.T) {
	t.Parallel()
	everything(t, &mcpclient.HTTP{URL: everythingAt(t, npmServers(t), "sse", "/sse"), SSE: true})
}

// replaced connects to a server over HTTP, which replace replaces by another one, without its sessions.
func replaced(t *testing.T, path string, start func() http.Handler) (ctx context.Context, c *mcpclient.Client, replace func()) {
	t.Helper()
	type server struct{ http.Handler } // atomic.Value wants one type
	var current atomic.Value
	replace = func() { current.Store(server{start()}) }
	replace()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().(server).ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	ctx, c = connect(t, &mcpclient.HTTP{URL: s.URL + path}, mcpclient.Options{})
	return ctx, c, replace
}

// TestGoSDKForgetsSession replaces the official Go SDK's server by a new one without the old sessions.
func TestGoSDKForgetsSession(t *testing.T) {
	t.Parallel()
	ctx, c, replace := replaced(t, "", func() http.Handler {
		server := goServer(t.Context())
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	})
	before := c.SessionID()
	replace()
	listAll(t, ctx, c, goSDK)
	callAll(t, ctx, c)
	after := c.SessionID()
	check.That(t, before != "" && after != "" && after != before, "got session %q, then %q", before, after)
}

// TestServerEverythingForgetsSession replaces the reference server by another one, which answers 400 to the session of the first.
func TestServerEverythingForgetsSession(t *testing.T) {
	t.Parallel()
	set := npmServers(t)
	ctx, c, replace := replaced(t, "/mcp", func() http.Handler {
		target := check.Value(url.Parse(everythingAt(t, set, "streamableHttp", "")))(t)
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	})
	before := c.SessionID()
	replace()
	check.Is(t, check.Err(c.CallTool(ctx, "echo", map[string]any{"message": "x"})), mcpclient.ErrSessionLost)
	check.NoError(t, check.Err(c.CallTool(ctx, "echo", map[string]any{"message": "x"})), "in the new session")
	after := c.SessionID()
	check.That(t, before != "" && after != "" && after != before, "got sessions %q and %q, want two", before, after)
}
