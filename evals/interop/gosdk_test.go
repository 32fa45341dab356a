//lint:file-ignore SA1019 deprecated features are tested as long as servers use them

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// goStateless does not end the calls of a client that closes their streams.
var (
	goSDK       = peer{name: "go-sdk"}
	goStateless = peer{name: "go-sdk", deaf: true}
)

// goServer makes a server with the official Go SDK that uses everything the
// scenario needs. A page of its lists has three items.
// stop ends the tool that waits.
func goServer(stop context.Context) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.8.0"}, &mcp.ServerOptions{
		PageSize:           3,
		CompletionHandler:  completeName,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for i := range 8 {
		addFiller(s, i)
	}
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "adds two numbers"}, add)
	s.AddTool(&mcp.Tool{Name: "think", InputSchema: &jsonschema.Schema{Type: "object"}}, think)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: &jsonschema.Schema{Type: "object"}}, ask)
	s.AddTool(&mcp.Tool{Name: "where", InputSchema: &jsonschema.Schema{Type: "object"}}, where)
	mcp.AddTool(s, &mcp.Tool{Name: "count"}, count)
	mcp.AddTool(s, &mcp.Tool{Name: "change"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		addFiller(s, 0)
		return nil, nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: notes})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("out of paper")
	})
	events := make(waits, 8)
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, events.wait(ctx, stop)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "heard"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		text, err := events.next(ctx, stop)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
	})
	s.AddResource(&mcp.Resource{URI: notes, Name: "notes", MIMEType: "text/plain"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "buy milk"}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note:///{name}", Name: "note"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text := "note " + strings.TrimPrefix(req.Params.URI, "note:///")
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: text}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text := &mcp.TextContent{Text: "Greet " + req.Params.Arguments["name"]}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
	})
	return s
}

// waits are what became of the calls of the tool that waits, for another tool to
// tell. What nobody asks for is dropped.
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

// next waits for the next event.
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

func addFiller(s *mcp.Server, i int) {
	mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("filler_%d", i)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
}

func completeName(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	if !strings.HasPrefix("Ada", req.Params.Argument.Value) {
		return &mcp.CompleteResult{}, nil
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"Ada"}}}, nil
}

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

func add(_ context.Context, _ *mcp.CallToolRequest, args addArgs) (*mcp.CallToolResult, sum, error) {
	return nil, sum{args.A + args.B}, nil
}

// think asks the client's model. The SDK turns the question into a request of
// the server in the legacy era.
func think(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["thought"]
	if !ok {
		return &mcp.CallToolResult{RequestState: "thinking", InputRequests: mcp.InputRequestMap{"thought": &mcp.CreateMessageParams{
			MaxTokens: 64,
			Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What now?"}}},
		}}}, nil
	}
	raw, err := json.Marshal(answer)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}, err
}

// ask asks the person.
func ask(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["color"]
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"color": &mcp.ElicitParams{
			Message: "Which colour?",
			RequestedSchema: &jsonschema.Schema{
				Type:       "object",
				Properties: map[string]*jsonschema.Schema{"color": {Type: "string"}, "shade": {Type: "string", Default: json.RawMessage(`"dark"`)}},
				Required:   []string{"color"},
			},
		}}}, nil
	}
	raw, err := json.Marshal(answer)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}, err
}

// where asks for the client's roots.
func where(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["roots"]
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
	}
	raw, err := json.Marshal(answer)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}, err
}

func count(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	for i := 1; i <= 3; i++ {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Total: 3,
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "counted"}}}, nil, nil
}

// goHTTP serves goServer over Streamable HTTP.
func goHTTP(t *testing.T, opts *mcp.StreamableHTTPOptions) mcpclient.Transport {
	server := goServer(t.Context())
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &mcpclient.HTTP{URL: s.URL}
}

// goPipe serves goServer over a pair of pipes, framed like stdio.
func goPipe(t *testing.T) mcpclient.Transport {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session, err := goServer(t.Context()).Connect(context.Background(), &mcp.IOTransport{Reader: fromClient, Writer: toClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

// serveGo is goServer over stdio.
func serveGo() int {
	if err := goServer(context.Background()).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// TestGoSDK has the server of the official Go SDK as its peer. Over HTTP that
// server speaks the modern era only when it is stateless.
func TestGoSDK(t *testing.T) {
	stateless := &mcp.StreamableHTTPOptions{Stateless: true}
	t.Run("probed", func(t *testing.T) {
		t.Run("pipe", func(t *testing.T) { scenario(t, goSDK, goPipe(t), "", mcpclient.Revision20260728) })
		t.Run("stdio", func(t *testing.T) { scenario(t, goSDK, roleCommand(t, "go-sdk"), "", mcpclient.Revision20260728) })
		t.Run("http", func(t *testing.T) { scenario(t, goSDK, goHTTP(t, nil), "", mcpclient.Revision20251125) })
		t.Run("http stateless", func(t *testing.T) { scenario(t, goStateless, goHTTP(t, stateless), "", mcpclient.Revision20260728) })
	})
	t.Run("2026-07-28", func(t *testing.T) {
		const revision = mcpclient.Revision20260728
		t.Run("pipe", func(t *testing.T) { scenario(t, goSDK, goPipe(t), revision, revision) })
		t.Run("stdio", func(t *testing.T) { scenario(t, goSDK, roleCommand(t, "go-sdk"), revision, revision) })
		t.Run("http", func(t *testing.T) { scenario(t, goStateless, goHTTP(t, stateless), revision, revision) })
	})
	for _, revision := range []string{
		mcpclient.Revision20251125, mcpclient.Revision20250618, mcpclient.Revision20250326, mcpclient.Revision20241105,
	} {
		t.Run(revision, func(t *testing.T) {
			t.Run("pipe", func(t *testing.T) { scenario(t, goSDK, goPipe(t), revision, revision) })
			t.Run("stdio", func(t *testing.T) { scenario(t, goSDK, roleCommand(t, "go-sdk"), revision, revision) })
			t.Run("http", func(t *testing.T) { scenario(t, goSDK, goHTTP(t, nil), revision, revision) })
		})
	}
}
