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
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

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
