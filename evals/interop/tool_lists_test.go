package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var update = flag.Bool("update", false, "rewrite the lists of tools in testdata/tools")

// connect connects to a server for at most a minute, as a host with all capabilities.
func connect(t *testing.T, transport mcpclient.Transport, opts mcpclient.Options) (context.Context, *mcpclient.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	opts.Sampling = mcp.SamplingFunc(poet)
	opts.Elicitation = person{}
	if opts.Roots == nil {
		opts.Roots = []mcp.Root{{URI: workspace, Name: "workspace"}}
	}
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	c, err := mcpclient.Connect(ctx, transport, &opts)
	check.Must(t, err)
	t.Cleanup(func() { check.NoError(t, c.Close()) })
	return ctx, c
}

// all are the values of a list, which must have some.
func all[T any](t *testing.T, list iter.Seq2[T, error]) (values []T) {
	t.Helper()
	for v, err := range list {
		check.Must(t, err)
		values = append(values, v)
	}
	if len(values) == 0 {
		t.Fatalf("got no %T", *new(T))
	}
	return values
}

// toolsOf are the tools of a server by their names.
func toolsOf(t *testing.T, ctx context.Context, c *mcpclient.Client) map[string]*mcp.Tool {
	t.Helper()
	tools := map[string]*mcp.Tool{}
	for _, tool := range all(t, c.Tools(ctx)) {
		tools[tool.Name] = tool
	}
	return tools
}

// poet is a model with one answer.
func poet(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "tiny", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: "leaves fall"}}}, nil
}

// toolServers are the servers of the lists in testdata/tools, by the names of the files.
func toolServers(t *testing.T) map[string]mcpclient.Transport {
	peers := npmPeers(t)
	sdk := goExamples(t, goSDKExamples, "server/everything", "server/memory")
	mark := goExamples(t, markExamples, "everything", "structured_input_and_output", "typed_tools")
	return map[string]mcpclient.Transport{
		"everything":             referenceServer(t, "server-everything", "stdio"),
		"filesystem":             referenceServer(t, "server-filesystem", "."),
		"memory":                 referenceServer(t, "server-memory"),
		"sequential-thinking":    referenceServer(t, "server-sequential-thinking"),
		"pdf":                    &mcpclient.Command{Path: peers.Node(), Args: []string{peers.Module(pdfProgram), "--stdio", "none.pdf"}},
		"fastmcp":                &mcpclient.Command{Path: peers.Node(), Args: []string{peers.Path("fastmcp.mjs"), "stdio"}},
		"typescript-elicitation": exampleHTTP(t, "elicitationFormExample"),
		"typescript-output":      exampleCommand(t, "mcpServerOutputSchema"),
		"typescript-simple":      exampleHTTP(t, "simpleStreamableHttp"),
		"go-sdk":                 sdk["server/everything"],
		"go-sdk-memory":          sdk["server/memory"],
		"mcp-go":                 mark["everything"],
		"mcp-go-structured":      mark["structured_input_and_output"],
		"mcp-go-typed":           mark["typed_tools"],
	}
}

func referenceServer(t *testing.T, name string, args ...string) *mcpclient.Command {
	set := npmServers(t)
	return &mcpclient.Command{Path: set.Node(), Args: append([]string{set.Module("@modelcontextprotocol/" + name + "/dist/index.js")}, args...)}
}

// TestToolLists compares the tools of each server with the list in testdata/tools. Tests of other
// packages read these lists. The flag -update rewrites them.
func TestToolLists(t *testing.T) {
	t.Parallel()
	for name, transport := range toolServers(t) {
		t.Run(name, func(t *testing.T) {
			ctx, c := connect(t, transport, mcpclient.Options{})
			var got bytes.Buffer
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			for _, tool := range all(t, c.Tools(ctx)) {
				check.Must(t, enc.Encode(tool))
			}
			file := filepath.Join("testdata", "tools", name+".jsonl")
			if *update {
				check.Must(t, os.WriteFile(file, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			check.Must(t, err)
			check.Same(t, "the list; -update rewrites it", got.String(), string(want))
		})
	}
}
