package interop

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
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
	check.Contains(t, "get-sum", check.Value(c.CallTool(ctx, "get-sum", map[string]int{"a": 17, "b": 25}))(t).Text(), "42")
	res := check.Value(c.CallTool(ctx, "get-tiny-image", nil))(t)
	images := 0
	for _, block := range res.Content {
		if image, ok := block.(*mcp.ImageContent); ok && len(image.Data) > 0 && image.MIMEType == "image/png" {
			images++
		}
	}
	check.Equal(t, "images", images, 1)
	var last mcp.Progress
	res, err := c.CallTool(ctx, "trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 4},
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

const pdfProgram = "@modelcontextprotocol/server-pdf/dist/index.js"

// TestPDF has the protocol's server for PDFs as its peer, over stdio and Streamable HTTP: it reads
// a file in pieces, shows a user interface of megabytes, and has a tool that waits.
func TestPDF(t *testing.T) {
	t.Parallel()
	set := npmPeers(t)
	file := filepath.Join(realDir(t), "page.pdf")
	check.Must(t, os.WriteFile(file, onePage(), 0o600))
	t.Run("stdio", func(t *testing.T) {
		pdf(t, &mcpclient.Command{Path: set.Node(), Args: []string{set.Module(pdfProgram), "--stdio", file}}, file)
	})
	t.Run("http", func(t *testing.T) {
		pdf(t, &mcpclient.HTTP{URL: nodeAt(t, set, set.Module(pdfProgram), "--enable-interact", file) + "/mcp"}, file)
	})
}

func pdf(t *testing.T, transport mcpclient.Transport, file string) {
	ctx, c := connect(t, transport, mcpclient.Options{})
	if res, err := c.CallTool(ctx, "list_pdfs", nil); err != nil || !strings.Contains(res.Text(), filepath.Base(file)) {
		t.Errorf("list_pdfs: got %q, %v, want the file", res.Text(), err)
	}
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
	shown, err := mcpclient.CallToolAs[struct {
		ViewUUID   string
		TotalBytes int
	}](ctx, c, "display_pdf", map[string]any{"url": address})
	check.Require(t, err == nil && shown.ViewUUID != "", "display_pdf: got %+v, %v", shown, err)
	readPDF(t, ctx, c, address)
	for _, r := range all(t, c.Resources(ctx)) {
		res, err := c.ReadResource(ctx, r.URI)
		check.That(t, err == nil && len(res.Contents[0].Text) >= 1<<20, "read %s: got %v, want a page of megabytes", r.URI, err)
	}
	waiting, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	check.Is(t, check.Err(c.CallTool(waiting, "poll_pdf_commands", map[string]any{"viewUUID": shown.ViewUUID})), context.DeadlineExceeded, "poll_pdf_commands")
	res, err := c.CallTool(ctx, "list_pdfs", nil)
	check.That(t, err == nil && res.Err() == nil, "list_pdfs after a call that was given up: got %+v, %v", res, err)
}

// readPDF reads the file in pieces of 100 bytes.
func readPDF(t *testing.T, ctx context.Context, c *mcpclient.Client, address string) {
	var got []byte
	for more := true; more; {
		res, err := c.CallTool(ctx, "read_pdf_bytes", map[string]any{"url": address, "offset": len(got), "byteCount": 100})
		check.Require(t, err == nil && res.Err() == nil, "read_pdf_bytes: got %+v, %v", res, err)
		var piece struct {
			Bytes   string
			HasMore bool
		}
		check.Must(t, json.Unmarshal(res.StructuredContent, &piece))
		raw, err := base64.StdEncoding.DecodeString(piece.Bytes)
		check.Require(t, err == nil && len(raw) != 0, "read_pdf_bytes: got %q, %v", piece.Bytes, err)
		got, more = append(got, raw...), piece.HasMore
	}
	check.That(t, bytes.Equal(got, onePage()), "got %q, want the file", got)
}

// onePage is a PDF with an empty page.
func onePage() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var offsets []int
	for i, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] >>",
	} {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := b.Len()
	b.WriteString("xref\n0 4\n0000000000 65535 f \n")
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", table)
	return b.Bytes()
}
