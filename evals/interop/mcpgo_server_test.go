package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/server/servertest"

	"github.com/mcpchain/mcpchain/mcpclient"
	mcp_ "github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// markServer makes the server of goServer with mcp-go.
func markServer(stop context.Context) *server.MCPServer {
	s := server.NewMCPServer("mcp-go", "1.2.1",
		server.WithPaginationLimit(3),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(markCompletion{}),
		server.WithElicitation(),
		server.WithRoots(),
	)
	s.EnableSampling()
	for i := range 8 {
		s.AddTool(markFiller(i))
	}
	s.AddTool(mcp.NewTool("add", mcp.WithInputSchema[addArgs](), mcp.WithOutputSchema[sum]()),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, args addArgs) (sum, error) {
			return sum{args.A + args.B}, nil
		}))
	s.AddTool(mcp.NewTool("think"), markThink)
	s.AddTool(mcp.NewTool("ask"), markAsk)
	s.AddTool(mcp.NewTool("where"), markWhere)
	s.AddTool(mcp.NewTool("count"), markCount)
	s.AddTool(mcp.NewTool("change"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(markFiller(0))
		s.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": notes})
		return mcp.NewToolResultText("changed"), nil
	})
	s.AddTool(mcp.NewTool("fail"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("out of paper"), nil
	})
	events := make(waits, 8)
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, events.wait(ctx, stop)
	})
	s.AddTool(mcp.NewTool("heard"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, err := events.next(ctx, stop)
		return mcp.NewToolResultText(text), err
	})
	addMarkTexts(s)
	return s
}

func addMarkTexts(s *server.MCPServer) {
	s.AddResource(mcp.NewResource(notes, "notes", mcp.WithMIMEType("text/plain")), func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "buy milk"}}, nil
	})
	s.AddResourceTemplate(mcp.NewResourceTemplate("note:///{name}", "note"), func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		text := "note " + strings.TrimPrefix(req.Params.URI, "note:///")
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: text}}, nil
	})
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("name", mcp.RequiredArgument())), func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text := mcp.NewTextContent("Greet " + req.Params.Arguments["name"])
		return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, text)}), nil
	})
}

func markFiller(i int) (mcp.Tool, server.ToolHandlerFunc) {
	return mcp.NewTool(fmt.Sprintf("filler_%d", i)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	}
}

type markCompletion struct{}

func (markCompletion) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if !strings.HasPrefix("Ada", argument.Value) {
		return &mcp.Completion{Values: []string{}}, nil
	}
	return &mcp.Completion{Values: []string{"Ada"}}, nil
}

func markThink(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.SamplingResponse(req.Params.InputResponses, "thought"); answer != nil {
		return markAnswer(answer)
	}
	return server.NewInputRequestBuilder("thinking").Sample("thought", mcp.CreateMessageParams{
		MaxTokens: 64,
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("What now?")}},
	}).ToolResult(), nil
}

func markAsk(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.ElicitationResponse(req.Params.InputResponses, "color"); answer != nil {
		return markAnswer(answer)
	}
	return server.NewInputRequestBuilder("").Elicit("color", mcp.ElicitationParams{
		Message: "Which colour?",
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"color": map[string]any{"type": "string"}, "shade": map[string]any{"type": "string", "default": "dark"}},
			"required":   []string{"color"},
		},
	}).ToolResult(), nil
}

func markWhere(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.RootsResponse(req.Params.InputResponses, "roots"); answer != nil {
		return markAnswer(answer)
	}
	return server.NewInputRequestBuilder("").Roots("roots").ToolResult(), nil
}

func markAnswer(answer any) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(answer)
	return mcp.NewToolResultText(string(raw)), err
}

func markCount(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := 1; i <= 3 && req.Params.Meta != nil; i++ {
		err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": req.Params.Meta.ProgressToken, "progress": i, "total": 3,
		})
		if err != nil {
			return nil, err
		}
	}
	// The result would overtake the queued notices, and these would be lost.
	for queue := server.ClientSessionFromContext(ctx).NotificationChannel(); len(queue) > 0 && ctx.Err() == nil; {
		runtime.Gosched()
	}
	return mcp.NewToolResultText("counted"), nil
}

// serveMark is markServer over stdio. It needs a process of its own: the session of that server over stdio is a global variable.
func serveMark() int {
	if err := server.ServeStdio(markServer(context.Background())); err != nil {
		return 1
	}
	return 0
}

// markHTTP serves markServer over Streamable HTTP. Without a store of events
// that server drops a notice of a change if a call ends at the same time.
func markHTTP(t *testing.T, opts ...server.StreamableHTTPOption) mcpclient.Transport {
	opts = append(opts, server.WithEventStore(server.NewInMemoryEventStore()), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	s := servertest.NewTestStreamableHTTPServer(markServer(t.Context()), opts...)
	t.Cleanup(s.Close)
	return &mcpclient.HTTP{URL: s.URL}
}

func markSSE(t *testing.T) (url string) {
	s := servertest.NewTestServer(markServer(t.Context()))
	t.Cleanup(s.Close)
	return s.URL + "/sse"
}

// TestMCPGo has the server of mcp-go as its peer. It lets notices of progress race with each other and with the result. In the
// modern era it never reports changes of a resource, and over stdio its notices lack the id of the subscription, so that they
// have no receiver: there the test only checks that the server accepts the subscription. Over HTTP+SSE it cannot send requests.
func TestMCPGo(t *testing.T) {
	t.Parallel()
	legacy := peer{name: "mcp-go", looseProgress: true}
	modern, modernStdio, sse := legacy, legacy, legacy
	modern.silent = []mcp_.ChangeKind{mcp_.ResourceUpdated}
	modernStdio.silent = []mcp_.ChangeKind{mcp_.ResourceUpdated, mcp_.ToolsChanged}
	sse.oneWay = true
	handshakes := server.WithStreamableHTTPProtocolVersions(mcp.LegacyProtocolVersions()...)
	t.Run("probed", func(t *testing.T) {
		t.Run("stdio", func(t *testing.T) { scenario(t, modernStdio, roleCommand(t, "mcp-go"), "", mcp_.Revision20260728) })
		t.Run("http", func(t *testing.T) { scenario(t, modern, markHTTP(t), "", mcp_.Revision20260728) })
		t.Run("http of the legacy era", func(t *testing.T) { scenario(t, legacy, markHTTP(t, handshakes), "", mcp_.Revision20251125) })
		t.Run("sse", func(t *testing.T) { scenario(t, sse, &mcpclient.HTTP{URL: markSSE(t)}, "", mcp_.Revision20251125) })
	})
	t.Run("2026-07-28", func(t *testing.T) {
		const revision = mcp_.Revision20260728
		t.Run("stdio", func(t *testing.T) { scenario(t, modernStdio, roleCommand(t, "mcp-go"), revision, revision) })
		t.Run("http", func(t *testing.T) { scenario(t, modern, markHTTP(t), revision, revision) })
	})
	for _, revision := range []string{mcp_.Revision20251125, mcp_.Revision20250618, mcp_.Revision20250326, mcp_.Revision20241105} {
		t.Run(revision, func(t *testing.T) {
			t.Run("stdio", func(t *testing.T) { scenario(t, legacy, roleCommand(t, "mcp-go"), revision, revision) })
			t.Run("http", func(t *testing.T) { scenario(t, legacy, markHTTP(t), revision, revision) })
			t.Run("sse", func(t *testing.T) { scenario(t, sse, &mcpclient.HTTP{URL: markSSE(t), SSE: true}, revision, revision) })
		})
	}
}
