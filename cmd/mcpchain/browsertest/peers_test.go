package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
)

type server struct {
	*sdk.Server
	over chan struct{} // closed when the test ends
}

func newServer(name string) *server {
	return &server{sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil), make(chan struct{})}
}

// tool adds a tool that takes any arguments. ui says what it has to do with views, nil for nothing.
func (s *server) tool(name string, ui map[string]any, do sdk.ToolHandler) *server {
	s.AddTool(&sdk.Tool{Name: name, Description: "A tool.", InputSchema: json.RawMessage(`{"type": "object"}`), Meta: sdk.Meta{"ui": ui}}, do)
	return s
}

// view adds the document of a view, and a tool whose result it shows.
func (s *server) view(tool, document string) *server {
	uri := "ui://" + tool
	s.AddResource(&sdk.Resource{URI: uri, Name: tool}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/html;profile=mcp-app", Text: document}}}, nil
	})
	return s.tool(tool, map[string]any{"resourceUri": uri}, saying("done by "+tool))
}

// hold has a call last until it or the test ends. A call that the client has left may keep its context.
func (s *server) hold(ctx context.Context) {
	select {
	case <-s.over:
	case <-ctx.Done():
	}
}

func said(content ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: content} }

func saying(text string) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return said(&sdk.TextContent{Text: text}), nil
	}
}

// asking is a tool that shows a form, and then does something with what it is answered with.
func asking(message, schema string, then func(map[string]any) *sdk.CallToolResult) sdk.ToolHandler {
	return func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := req.Params.InputResponses["form"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"form": &sdk.ElicitParams{
				Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema),
			}}}, nil
		}
		return then(answer.Content), nil
	}
}

// talking is a model whose replies are these texts, in their order, piece by piece.
func talking(t *testing.T, replies ...[]string) (args []string) {
	t.Helper()
	next := make(chan []string, len(replies))
	for _, r := range replies {
		next <- r
	}
	close(next)
	return replying(t, func(w http.ResponseWriter, _ string, delta func(string)) (ok bool) {
		pieces, ok := <-next
		if !ok {
			http.Error(w, `{"error":{"message":"<b>no more</b>","type":"x"}}`, http.StatusBadRequest)
		}
		for _, piece := range pieces {
			text, err := json.Marshal(piece)
			check.NoError(t, err)
			delta(fmt.Sprintf(`{"content":%s}`, text))
		}
		return ok
	})
}

// replying is a model that gets the bodies of requests, and writes deltas. ok means that its reply is complete.
func replying(t *testing.T, reply func(w http.ResponseWriter, body string, delta func(string)) (ok bool)) (args []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)                // what is unread would reset the connection
		if err != nil || r.Method != http.MethodPost { // the page asks what kind of host this is
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		const event = "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n"
		if reply(w, string(body), func(delta string) { fmt.Fprintf(w, event, delta, "null") }) {
			fmt.Fprintf(w, event+"data: [DONE]\n\n", "{}", `"stop"`)
		}
	}))
	t.Cleanup(server.Close)
	return []string{"-base-url", server.URL + "/v1", "-model", "<i>tester</i>"}
}

func serving(t *testing.T, name string, s *server) (args []string) {
	t.Helper()
	listening := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.Server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		close(s.over)
		listening.Close()
	})
	return configured(t, name, map[string]any{"type": "http", "url": listening.URL})
}

// configured is a configuration with the entry of one server.
func configured(t *testing.T, name string, entry map[string]any) (args []string) {
	t.Helper()
	data := check.Value(json.Marshal(map[string]any{"mcpServers": map[string]any{name: entry}}))(t)
	return []string{"-config", write(t, "mcp.json", string(data))}
}
