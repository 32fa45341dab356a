package interop

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path"
	"path/filepath"
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
		if change.Kind == mcp.Stale {
			continue // the server was slow to open its stream
		}
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
	prompt := check.Value(c.GetPrompt(ctx, "greeting-template", map[string]string{"name": "Ada"}))(t)
	check.Equal(t, "messages of greeting-template", len(prompt.Messages), 1)
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

const (
	goSDKExamples = "github.com/modelcontextprotocol/go-sdk/examples/"
	markExamples  = "github.com/mark3labs/mcp-go/examples/"
)

// goExamples builds example programs of a module in go.mod, and returns a command over stdio for each.
func goExamples(t *testing.T, module string, programs ...string) map[string]*mcpclient.Command {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	commands := map[string]*mcpclient.Command{}
	for _, program := range programs {
		args = append(args, module+program)
		commands[program] = &mcpclient.Command{Path: filepath.Join(dir, path.Base(program))}
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	check.Require(t, err == nil, "go build: %v\n%s", err, out)
	return commands
}

// asking is a tool of an example server that asks the client, and a part of its answer.
type asking struct {
	tool string
	args map[string]any
	want string
}

// asks calls tools that ask the client.
func asks(t *testing.T, transport mcpclient.Transport, opts mcpclient.Options, calls []asking) {
	ctx, c := connect(t, transport, opts)
	for _, call := range calls {
		res, err := c.CallTool(ctx, call.tool, call.args)
		check.That(t, err == nil && res.Err() == nil && strings.Contains(res.Text(), call.want),
			"%s: got %q, %v, want %q in it", call.tool, res.Text(), err, call.want)
	}
}

// forced forces the newest revision in which servers send requests.
var forced = mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20251125}}

// TestGoSDKExamples has the example server of the official Go SDK as its peer. Its tools send
// requests: in the modern era they fail, with a forced revision they work.
func TestGoSDKExamples(t *testing.T) {
	t.Parallel()
	server := goExamples(t, goSDKExamples, "server/everything")["server/everything"]
	calls := []asking{
		{"greet", map[string]any{"name": "Ada"}, "Hi Ada"},
		{"greet (structured)", map[string]any{"name": "Ada"}, `{"message":"Hi Ada"}`},
		{"ping", nil, ""},
		{"sample", nil, "leaves fall"},
		{"roots", nil, "workspace:" + workspace},
		{"elicit (form)", nil, "green and blue"},
		{"elicit (url)", nil, "pending"},
	}
	t.Run("forced", func(t *testing.T) { asks(t, server, forced, calls) })
	t.Run("probed", func(t *testing.T) {
		ctx, c := connect(t, server, mcpclient.Options{})
		got := c.Server().Revision
		check.Require(t, got == mcp.Revision20260728, "got revision %s, want the modern era", got)
		for _, tool := range []string{"sample", "roots", "elicit (form)", "elicit (url)"} {
			res, err := c.CallTool(ctx, tool, nil)
			check.That(t, err != nil || res.Err() != nil, "%s: got %+v, want a failure: the SDK asks nothing by requests here", tool, res)
		}
	})
}

// TestMCPGoExamples has example servers of mcp-go as its peers. They send
// requests. One of them prints received messages to its standard output.
func TestMCPGoExamples(t *testing.T) {
	t.Parallel()
	servers := goExamples(t, markExamples, "everything", "sampling_server", "roots_server", "elicitation")
	t.Run("everything", func(t *testing.T) {
		asks(t, servers["everything"], forced, []asking{
			{"echo", map[string]any{"message": "x"}, "Echo: x"},
			{"add", map[string]any{"a": 17, "b": 25}, "42"},
		})
	})
	t.Run("progress", func(t *testing.T) {
		ctx, c := connect(t, servers["everything"], forced)
		longRunning(t, ctx, c, "longRunningOperation", map[string]any{"duration": 0.3, "steps": 3}, map[string]any{"duration": 50, "steps": 500})
	})
	t.Run("sampling", func(t *testing.T) {
		asks(t, servers["sampling_server"], forced, []asking{{"ask_llm", map[string]any{"question": "?"}, "leaves fall"}})
	})
	t.Run("roots", func(t *testing.T) {
		ctx, c := connect(t, servers["roots_server"], forced)
		for _, uri := range []string{workspace, "file:///elsewhere"} {
			check.Must(t, c.SetRoots(ctx, []mcp.Root{{URI: uri}}))
			res, err := c.CallTool(ctx, "roots", nil)
			check.That(t, err == nil && strings.Contains(res.Text(), uri), "roots: got %q, %v, want %s in it", res.Text(), err, uri)
		}
	})
	t.Run("elicitation", func(t *testing.T) {
		asks(t, servers["elicitation"], forced, []asking{
			{"create_project", nil, "Created project 'green and blue' with framework: react, tests: true"},
			{"process_data", map[string]any{"data": strings.Repeat("x", 101)}, "Processed 101 characters"},
			{"auth_via_url", nil, "accepted"},
		})
	})
	t.Run("url needed", func(t *testing.T) {
		ctx, c := connect(t, servers["elicitation"], mcpclient.Options{Protocol: forced.Protocol, Timeouts: mcpclient.Timeouts{URLElicitation: -1}})
		_, err := c.CallTool(ctx, "protected_action", nil)
		rpc, ok := errors.AsType[*mcp.RPCError](err)
		check.That(t, ok && rpc.Code == mcp.CodeURLElicitationNeeded && strings.Contains(err.Error(), "the person agreed, and the server asks again"), "protected_action: got %v, want it to ask once more after the person agreed", err)
	})
}
