package interop

import (
	"errors"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
