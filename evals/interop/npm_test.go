package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// everythingProgram is the reference server.
const everythingProgram = "@modelcontextprotocol/server-everything/dist/index.js"

func npmServers(t *testing.T) *testenv.NPM {
	t.Helper()
	return testenv.InstallNPM(t, os.DirFS("testdata/npm"))
}

// TestServerEverything has the reference server of the protocol as its peer. It speaks 2025-11-25 over stdio and Streamable HTTP.
func TestServerEverything(t *testing.T) {
	t.Parallel()
	set := npmServers(t)
	t.Run("stdio", func(t *testing.T) { everything(t, referenceServer(t, "server-everything", "stdio")) })
	t.Run("http", func(t *testing.T) {
		everything(t, &mcpclient.HTTP{URL: everythingAt(t, set, "streamableHttp", "/mcp")})
	})
}

func everythingAt(t *testing.T, set *testenv.NPM, transport, path string) string {
	t.Helper()
	return nodeAt(t, set, set.Module(everythingProgram), transport) + path
}

func everything(t *testing.T, transport mcpclient.Transport) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asked := make(chan mcp.Origin, 8)
	c, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{
		Sampling: mcp.SamplingFunc(func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			origin, _ := mcp.OriginFrom(ctx)
			asked <- origin
			return &mcp.CreateMessageResult{Model: "tiny", Content: []mcp.Content{&mcp.TextContent{Text: "sampled: " + p.SystemPrompt}}}, nil
		}),
		Elicitation: mcp.ElicitationFunc(func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			origin, _ := mcp.OriginFrom(ctx)
			asked <- origin
			fields, err := forms.Fields(p)
			if err != nil || len(fields) < 12 {
				return nil, fmt.Errorf("got %d fields, %v", len(fields), err)
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "Ada Lovelace", "birthdate": "1815-12-10"}}, nil
		}),
		Roots: []mcp.Root{{URI: "file:///workspace", Name: "workspace"}},
	})
	check.Must(t, err)
	defer func() { _ = c.Close() }()
	got := c.Server()
	check.That(t, got.Revision == mcp.Revision20251125 && got.Info.Name != "", "got server %+v", got)
	everythingTools(t, ctx, c)
	everythingAsks(t, ctx, c, asked)
	everythingReads(t, ctx, c)
}

func everythingTools(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	tools := toolsOf(t, ctx, c)
	for _, name := range []string{"echo", "get-sum", "trigger-sampling-request", "trigger-elicitation-request", "get-roots-list"} {
		check.Require(t, tools[name] != nil, "no tool %q among %d", name, len(tools))
	}
	if res, err := c.CallTool(ctx, "get-sum", map[string]int{"a": 17, "b": 25}); err != nil || !strings.Contains(res.Text(), "42") {
		t.Errorf("get-sum: got %+v, %v", res, err)
	}
	res, err := c.CallTool(ctx, "get-tiny-image", nil)
	check.Must(t, err)
	images := 0
	for _, block := range res.Content {
		if image, ok := block.(*mcp.ImageContent); ok && len(image.Data) > 0 && image.MIMEType == "image/png" {
			images++
		}
	}
	check.Equal(t, "images", images, 1)
	var last mcp.Progress
	res, err = c.CallTool(ctx, "trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 4},
		mcpclient.WithProgress(func(p mcp.Progress) { last = p }))
	check.That(t, err == nil && last.Progress == 4 && last.Total != nil && *last.Total == 4,
		"trigger-long-running-operation: got %+v, %v, last progress %+v", res, err, last)
	res, err = c.CallTool(ctx, "get-sum", map[string]string{"a": "x"})
	check.That(t, err != nil || res.Err() != nil, "get-sum of nonsense: got %+v, want a failure", res)
}

func everythingAsks(t *testing.T, ctx context.Context, c *mcpclient.Client, asked <-chan mcp.Origin) {
	for _, tt := range []struct {
		tool string
		args any
		want string
	}{
		{"trigger-sampling-request", map[string]any{"prompt": "hello", "maxTokens": 50}, "sampled: You are a helpful test server."},
		{"trigger-elicitation-request", nil, "Ada Lovelace"},
	} {
		res, err := c.CallTool(ctx, tt.tool, tt.args)
		if err != nil || res.Err() != nil || !strings.Contains(res.Text(), tt.want) {
			t.Errorf("%s: got %+v, %v, want %q in its text", tt.tool, res, err, tt.want)
			continue
		}
		origin := <-asked
		check.That(t, origin.Call != nil && origin.Call.Name == tt.tool && origin.Server.Info.Name != "", "%s: got origin %+v, want the call", tt.tool, origin)
	}
	res, err := c.CallTool(ctx, "get-roots-list", nil)
	check.That(t, err == nil && strings.Contains(res.Text(), "file:///workspace"), "get-roots-list: got %+v, %v", res, err)
}

func everythingReads(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	first := all(t, c.Resources(ctx))[0]
	res, err := c.ReadResource(ctx, first.URI)
	check.That(t, err == nil && len(res.Contents) != 0, "read %s: got %+v, %v", first.URI, res, err)
	for _, template := range all(t, c.ResourceTemplates(ctx)) {
		uri := check.Value(template.Expand(map[string]string{"resourceId": "1"}))(t)
		res, err := c.ReadResource(ctx, uri)
		check.That(t, err == nil && len(res.Contents) == 1, "read %s: got %+v, %v", uri, res, err)
	}
	for _, p := range all(t, c.Prompts(ctx)) {
		args := map[string]string{}
		for _, a := range p.Arguments {
			args[a.Name] = "1"
		}
		if p.Name != "simple-prompt" && p.Name != "args-prompt" {
			continue
		}
		res, err := c.GetPrompt(ctx, p.Name, args)
		check.That(t, err == nil && len(res.Messages) != 0, "prompt %s: got %+v, %v", p.Name, res, err)
	}
}

var listening = regexp.MustCompile(`^listening on (\d+)$`)

// nodeAt starts a program that serves HTTP, waits until it listens, and returns
// its URL without a path. testdata/listen.mjs gives it a free port.
func nodeAt(t *testing.T, set *testenv.NPM, program string, args ...string) string {
	t.Helper()
	listen := check.Value(filepath.Abs(filepath.FromSlash("testdata/listen.mjs")))(t)
	return "http://127.0.0.1:" + set.Listen(t, listening, append([]string{"--import", "file://" + filepath.ToSlash(listen), program}, args...)...)
}
