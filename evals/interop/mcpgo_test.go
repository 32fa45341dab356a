package interop

import (
	"context"
	"log/slog"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/server/servertest"

	"github.com/mcpchain/mcpchain/mcpclient"
	mcp_ "github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// serveMark is markServer over stdio. It needs a process of its own: the session of
// that server over stdio is a global variable.
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

// TestMCPGo has the server of mcp-go as its peer. It lets notices of progress race with each other
// and with the result. In the modern era it never reports changes of a resource, and over stdio its
// notices lack the id of the subscription, so that they have no receiver: there the test only
// checks that the server accepts the subscription. Over HTTP+SSE it cannot send requests.
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
