package interop

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// examplePath is the program of an example server of the official SDK for TypeScript.
func examplePath(name string) string {
	return "@modelcontextprotocol/sdk/dist/esm/examples/server/" + name + ".js"
}

func exampleCommand(t *testing.T, name string) *mcpclient.Command {
	set := npmPeers(t)
	return &mcpclient.Command{Path: set.Node(), Args: []string{set.Module(examplePath(name))}}
}

func exampleHTTP(t *testing.T, name string) *mcpclient.HTTP {
	set := npmPeers(t)
	return &mcpclient.HTTP{URL: nodeAt(t, set, set.Module(examplePath(name))) + "/mcp"}
}

// longRunning follows the progress of a call, and cancels another call after its first progress. The connection stays usable.
func longRunning(t *testing.T, ctx context.Context, c *mcpclient.Client, tool string, short, long any) {
	t.Helper()
	var last mcp.Progress
	hear := mcpclient.WithProgress(func(p mcp.Progress) { last = p })
	res, err := c.CallTool(ctx, tool, short, hear)
	check.That(t, err == nil && res.Err() == nil && last.Total != nil && last.Progress >= 1, "%s: got %+v, %v, last progress %v", tool, res, err, last)
	given, cancel := context.WithCancel(ctx)
	defer cancel()
	check.Is(t, check.Err(c.CallTool(given, tool, long, mcpclient.WithProgress(func(mcp.Progress) { cancel() }))), context.Canceled, tool)
	res, err = c.CallTool(ctx, tool, short, hear)
	check.That(t, err == nil && res.Err() == nil, "%s after a cancelled call: got %+v, %v", tool, res, err)
}

// TestTypeScriptExamples has the example servers of the official SDK for TypeScript as its peers, in the version for 2025-11-25.
func TestTypeScriptExamples(t *testing.T) {
	npmPeers(t) // once, for all that run at the same time
	for name, run := range map[string]func(t *testing.T, name string){
		"progressExample": exampleProgress, "toolWithSampleServer": exampleSampling,
		"mcpServerOutputSchema": exampleOutput, "elicitationFormExample": exampleForms,
		"simpleStreamableHttp": exampleSimple, "simpleTaskInteractive": exampleTasks,
		"standaloneSseWithGetStreamableHttp": exampleChanges, "ssePollingExample": examplePolling,
		"simpleSseServer": exampleSSE, "sseAndStreamableHttpCompatibleServer": exampleBoth,
		"jsonResponseStreamableHttp": exampleGreet, "honoWebStandardStreamableHttp": exampleGreet,
		"simpleStatelessStreamableHttp": exampleStateless,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, name)
		})
	}
}

func exampleProgress(t *testing.T, name string) {
	ctx, c := connect(t, exampleCommand(t, name), mcpclient.Options{})
	longRunning(t, ctx, c, "count", map[string]int{"n": 2}, map[string]int{"n": 100})
}

// exampleSampling's server prints a greeting between its messages.
func exampleSampling(t *testing.T, name string) {
	asks(t, exampleCommand(t, name), mcpclient.Options{}, []asking{{"summarize", map[string]any{"text": "long"}, "leaves fall"}})
}

func exampleOutput(t *testing.T, name string) {
	ctx, c := connect(t, exampleCommand(t, name), mcpclient.Options{})
	for _, tool := range all(t, c.Tools(ctx)) {
		res, err := c.CallTool(ctx, tool.Name, map[string]string{"city": "Ulm", "country": "DE"}, mcpclient.WithOutputCheck(tool, new(schemacheck.Validator)))
		check.That(t, err == nil && res.StructuredContent != nil, "%s: got %+v, %v, want what its schema says", tool.Name, res, err)
	}
}

func exampleForms(t *testing.T, name string) {
	asks(t, exampleHTTP(t, name), mcpclient.Options{}, []asking{
		{"register_user", nil, "Registration successful!\n\nUsername: green and blue\nEmail: ada@example.com\nNewsletter: No"},
		{"update_shipping_address", nil, "green and blue"},
	})
}

func exampleSimple(t *testing.T, name string) {
	logged := make(chan mcp.LogMessage, 8)
	ctx, c := connect(t, exampleHTTP(t, name), mcpclient.Options{LogLevel: "debug", OnNotification: func(n *mcp.Notification) {
		var m mcp.LogMessage
		if n.Method == "notifications/message" && json.Unmarshal(n.Params, &m) == nil {
			logged <- m
		}
	}})
	for _, call := range []asking{
		{"greet", map[string]any{"name": "Ada"}, "Hello, Ada!"},
		{"collect-user-info", map[string]any{"infoType": "feedback"}, `"rating": 1`},
		{"start-notification-stream", map[string]any{"interval": 1, "count": 2}, "periodic"},
	} {
		res, err := c.CallTool(ctx, call.tool, call.args)
		check.That(t, err == nil && strings.Contains(res.Text(), call.want), "%s: got %q, %v, want %q in it", call.tool, res.Text(), err, call.want)
	}
	for range 2 {
		m := <-logged
		check.That(t, m.Level == "info" && strings.Contains(string(m.Data), "Periodic notification"), "got the log message %+v", m)
	}
	links := check.Value(c.CallTool(ctx, "list-files", nil))(t)
	for _, block := range links.Content {
		if link, ok := block.(*mcp.ResourceLink); ok {
			res, err := c.ReadResource(ctx, link.URI)
			check.That(t, err == nil && len(res.Contents) == 1, "read %s: got %+v, %v", link.URI, res, err)
		}
	}
	res, err := c.GetPrompt(ctx, "greeting-template", map[string]string{"name": "Ada"})
	check.That(t, err == nil && len(res.Messages) == 1, "greeting-template: got %+v, %v", res, err)
	callTasks(t, ctx, c, asking{"delay", map[string]any{"duration": 10}, "Completed 10ms delay"})
}

// callTasks calls tools that have to be tasks.
func callTasks(t *testing.T, ctx context.Context, c *mcpclient.Client, calls ...asking) {
	t.Helper()
	tools := toolsOf(t, ctx, c)
	for _, call := range calls {
		res, err := c.CallTool(ctx, call.tool, call.args, mcpclient.WithTask(tools[call.tool]))
		check.That(t, err == nil && strings.Contains(res.Text(), call.want), "%s: got %q, %v, want %q in it", call.tool, res.Text(), err, call.want)
	}
}

// exampleTasks's server asks during tasks, on the stream of tasks/result.
func exampleTasks(t *testing.T, name string) {
	ctx, c := connect(t, exampleHTTP(t, name), mcpclient.Options{})
	callTasks(t, ctx, c,
		asking{"confirm_delete", map[string]any{"filename": "x.txt"}, "Deleted 'x.txt'"},
		asking{"write_haiku", map[string]any{"topic": "autumn"}, "leaves fall"})
}

// exampleChanges's server adds a resource every 5 s.
func exampleChanges(t *testing.T, name string) {
	ctx, c := connect(t, exampleHTTP(t, name), mcpclient.Options{})
	sub := check.Value(c.Subscribe(ctx, mcp.SubscriptionFilter{ResourcesListChanged: true}))(t)
	defer func() { _ = sub.Close() }()
	for change, err := range sub.Changes(ctx) {
		check.That(t, err == nil && change.Kind == mcp.ResourcesChanged, "got %+v, %v, want a change of the list of resources", change, err)
		break
	}
	n := len(all(t, c.Resources(ctx)))
	check.That(t, n >= 2, "got %d resources after the change, want 2 or more", n)
}

// examplePolling's server ends the stream of a call before the answer. The answer comes on the resumed stream.
func examplePolling(t *testing.T, name string) {
	asks(t, exampleHTTP(t, name), mcpclient.Options{}, []asking{{"long-task", nil, "completed successfully"}})
}

func exampleSSE(t *testing.T, name string) {
	asks(t, &mcpclient.HTTP{URL: exampleHTTP(t, name).URL, SSE: true}, mcpclient.Options{}, []asking{
		{"start-notification-stream", map[string]any{"interval": 1, "count": 2}, "Completed sending 2 notifications"},
	})
}

func exampleBoth(t *testing.T, name string) {
	base := strings.TrimSuffix(exampleHTTP(t, name).URL, "/mcp")
	call := []asking{{"start-notification-stream", map[string]any{"interval": 1, "count": 2}, "1ms"}}
	asks(t, &mcpclient.HTTP{URL: base + "/mcp"}, mcpclient.Options{}, call)
	asks(t, &mcpclient.HTTP{URL: base + "/sse", SSE: true}, mcpclient.Options{}, call)
}

func exampleGreet(t *testing.T, name string) {
	asks(t, exampleHTTP(t, name), mcpclient.Options{}, []asking{{"greet", map[string]any{"name": "Ada"}, "Ada"}})
}

func exampleStateless(t *testing.T, name string) {
	ctx, c := connect(t, exampleHTTP(t, name), mcpclient.Options{})
	check.That(t, c.SessionID() == "", "got a session, want none")
	res, err := c.ReadResource(ctx, "https://example.com/greetings/default")
	check.That(t, err == nil && len(res.Contents) == 1, "got %+v, %v", res, err)
	if res, err := c.GetPrompt(ctx, "greeting-template", map[string]string{"name": "Ada"}); err != nil || len(res.Messages) != 1 {
		t.Errorf("greeting-template: got %+v, %v", res, err)
	}
}

// typescriptCommand runs testdata/npm/modern.mjs over stdio.
func typescriptCommand(t *testing.T) mcpclient.Transport {
	set := npmServers(t)
	return &mcpclient.Command{Path: set.Node(), Args: []string{set.Path("modern.mjs"), "stdio"}}
}

// typescriptHTTP runs it over Streamable HTTP.
func typescriptHTTP(t *testing.T) mcpclient.Transport {
	set := npmServers(t)
	port := set.Listen(t, regexp.MustCompile(`^(\d+)$`), set.Path("modern.mjs"), "http")
	return &mcpclient.HTTP{URL: "http://127.0.0.1:" + port + "/mcp"}
}

// TestTypeScriptSDK has a server on the official SDK for TypeScript as its peer.
func TestTypeScriptSDK(t *testing.T) {
	t.Parallel()
	p := peer{name: "typescript-sdk"}
	const revision = mcp.Revision20260728
	t.Run("probed", func(t *testing.T) {
		t.Run("stdio", func(t *testing.T) { scenario(t, p, typescriptCommand(t), "", revision) })
		t.Run("http", func(t *testing.T) { scenario(t, p, typescriptHTTP(t), "", revision) })
	})
	t.Run(revision, func(t *testing.T) {
		t.Run("stdio", func(t *testing.T) { scenario(t, p, typescriptCommand(t), revision, revision) })
		t.Run("http", func(t *testing.T) { scenario(t, p, typescriptHTTP(t), revision, revision) })
	})
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105} {
		t.Run(revision, func(t *testing.T) { scenario(t, p, typescriptCommand(t), revision, revision) })
	}
}
