package interop

import (
	"context"
	"encoding/json"
	"errors"
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

// reference is a reference server over stdio; every result is checked by the
// output schema of its tool.
type reference struct {
	*mcpclient.Client
	tools map[string]*mcp.Tool
}

// connectReference starts one of the reference servers.
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
	if err := json.Unmarshal(res.StructuredContent, out); err != nil {
		t.Fatalf("%s: %v in %s", name, err, res.StructuredContent)
	}
}

type content struct{ Content string }

// realDir is a new folder under its real name, as for the server.
func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check.Must(t, err)
	return dir
}

// TestFilesystem has the reference server for files as its peer. It asks for
// the client's roots, and works only in these.
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
	sub, err := r.Subscribe(t.Context(), mcp.SubscriptionFilter{Resources: []string{resource}})
	check.Must(t, err)
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
