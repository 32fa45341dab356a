package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// reference is a reference server over stdio; every result is checked by the output schema of its tool.
type reference struct {
	*mcpclient.Client
	tools map[string]*mcp.Tool
}

func connectReference(t *testing.T, name string, env []string, args []string, opts mcpclient.Options) *reference {
	t.Helper()
	server := referenceServer(t, name, args...)
	server.Env = env
	ctx, c := connect(t, server, opts)
	return &reference{c, toolsOf(t, ctx, c)}
}

// call runs a tool. The tool must have an output schema.
func (r *reference) call(t *testing.T, name string, args any) (*mcp.CallToolResult, error) {
	t.Helper()
	tool := r.tools[name]
	check.Require(t, tool != nil && tool.OutputSchema != nil, "got %+v, want a tool %s with an output schema", tool, name)
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	res, err := r.CallTool(ctx, name, args, mcpclient.WithOutputCheck(tool, new(schemacheck.Validator)))
	if err != nil {
		return nil, err
	}
	return res, res.Err()
}

// must is call without a failure. It decodes the structured content into out.
func (r *reference) must(t *testing.T, name string, args, out any) {
	t.Helper()
	res, err := r.call(t, name, args)
	check.Require(t, err == nil, "%s: %v", name, err)
	err = json.Unmarshal(res.StructuredContent, out)
	check.Require(t, err == nil, "%s: %v in %s", name, err, res.StructuredContent)
}

type content struct{ Content string }

// realDir is a new folder under its real name, as for the server.
func realDir(t *testing.T) string {
	return check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
}

// TestFilesystem has the reference server for files as its peer. It asks for the client's roots, and works only in these.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	outside, inside := realDir(t), realDir(t)
	root := (&url.URL{Scheme: "file", Path: filepath.ToSlash(inside)}).String()
	r := connectReference(t, "server-filesystem", nil, []string{outside}, mcpclient.Options{Roots: []mcp.Root{{URI: root, Name: "work"}}})
	var allowed content
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(allowed.Content, inside); { // it asks after the handshake
		check.Require(t, !time.Now().After(deadline), "got the directories %q, want %s after 30 s", allowed.Content, inside)
		r.must(t, "list_allowed_directories", nil, &allowed)
	}
	file := filepath.Join(inside, "notes.txt")
	var said content
	r.must(t, "write_file", map[string]string{"path": file, "content": "buy milk\n"}, &said)
	data, err := os.ReadFile(file)
	check.That(t, err == nil && string(data) == "buy milk\n", "got %q, %v in the file, want what was written", data, err)
	r.must(t, "read_text_file", map[string]string{"path": file}, &said)
	check.Equal(t, "what was written", said.Content, "buy milk\n")
	r.must(t, "list_directory", map[string]string{"path": inside}, &said)
	check.Equal(t, "the list", said.Content, "[FILE] notes.txt")
	_, err = r.call(t, "write_file", map[string]string{"path": filepath.Join(outside, "x"), "content": ""})
	failed, ok := errors.AsType[*mcp.ToolError](err)
	check.That(t, ok && strings.Contains(failed.Error(), "Access denied"), "outside of the root: got %v, want a ToolError that access is denied", err)
}

type entity struct {
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
}

type relation struct {
	From         string `json:"from"`
	To           string `json:"to"`
	RelationType string `json:"relationType"`
}

type graph struct {
	Entities  []entity   `json:"entities"`
	Relations []relation `json:"relations"`
}

// TestMemory has the reference server with a knowledge graph as its peer, and watches its resource.
func TestMemory(t *testing.T) {
	t.Parallel()
	r := connectReference(t, "server-memory", []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}, nil, mcpclient.Options{})
	const resource = "memory://knowledge-graph"
	sub := check.Value(r.Subscribe(t.Context(), mcp.SubscriptionFilter{Resources: []string{resource}}))(t)
	defer func() { _ = sub.Close() }()
	var got graph
	r.must(t, "create_entities", graph{Entities: []entity{
		{"Ada", "person", []string{"writes programs"}}, {"Engine", "machine", []string{"is not built"}},
	}}, &got)
	check.Equal(t, "entities", len(got.Entities), 2)
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	for change, err := range sub.Changes(ctx) {
		want := (mcp.Change{Kind: mcp.ResourceUpdated, URI: resource})
		check.That(t, err == nil && change == want, "got %+v, %v, want %+v", change, err, want)
		break
	}
	r.must(t, "create_relations", graph{Relations: []relation{{"Ada", "Engine", "programs"}}}, &got)
	got = graph{}
	r.must(t, "search_nodes", map[string]string{"query": "programs"}, &got)
	check.That(t, len(got.Entities) == 1 && got.Entities[0].Name == "Ada" && slices.Equal(got.Entities[0].Observations, []string{"writes programs"}),
		"got %+v, want what was told of Ada", got)
	res, err := r.ReadResource(ctx, resource)
	check.That(t, err == nil && len(res.Contents) == 1 && strings.Contains(res.Contents[0].Text, "Engine"), "read %s: got %+v, %v", resource, res, err)
}

// npmPeers is the set of servers that need many packages.
func npmPeers(t *testing.T) *testenv.NPM {
	t.Helper()
	return testenv.InstallNPM(t, os.DirFS("testdata/peers"))
}

// TestFastMCP has a server on fastmcp as its peer. It speaks 2025-11-25 over all three transports.
// It does not declare changes of its list of tools, so the client does not listen for them.
func TestFastMCP(t *testing.T) {
	t.Parallel()
	set := npmPeers(t)
	program := set.Path("fastmcp.mjs")
	p := peer{name: "fastmcp", visits: true, silent: []mcp.ChangeKind{mcp.ToolsChanged}}
	stdio := func() mcpclient.Transport {
		return &mcpclient.Command{Path: set.Node(), Args: []string{program, "stdio"}}
	}
	const revision = mcp.Revision20251125
	t.Run("stdio", func(t *testing.T) { scenario(t, p, stdio(), "", revision) })
	t.Run("http", func(t *testing.T) {
		scenario(t, p, &mcpclient.HTTP{URL: nodeAt(t, set, program, "http") + "/mcp"}, "", revision)
	})
	t.Run("sse", func(t *testing.T) {
		scenario(t, p, &mcpclient.HTTP{URL: nodeAt(t, set, program, "http") + "/sse", SSE: true}, "", revision)
	})
}

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
	c := check.Value(mcpclient.Connect(ctx, transport, &opts))(t)
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
	check.Require(t, len(values) != 0, "got no %T", *new(T))
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
			want := check.Value(os.ReadFile(file))(t)
			check.Same(t, "the list; -update rewrites it", got.String(), string(want))
		})
	}
}
