package interop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// goSSE serves goServer over HTTP+SSE.
func goSSE(t *testing.T) string {
	server := goServer(t.Context())
	s := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

// TestGoSDKOverSSE has the official Go SDK's server of the oldest HTTP
// transport as its peer, with SSE, and with HTTP by its fallback.
func TestGoSDKOverSSE(t *testing.T) {
	t.Parallel()
	p := peer{name: "go-sdk"}
	t.Run("direct", func(t *testing.T) {
		scenario(t, p, &mcpclient.HTTP{URL: goSSE(t), SSE: true}, mcp.Revision20241105, mcp.Revision20241105)
	})
	t.Run("fallback", func(t *testing.T) {
		scenario(t, p, &mcpclient.HTTP{URL: goSSE(t)}, "", mcp.Revision20251125)
	})
}

// TestServerEverythingOverSSE has the reference server as its peer.
func TestServerEverythingOverSSE(t *testing.T) {
	t.Parallel()
	everything(t, &mcpclient.HTTP{URL: everythingAt(t, npmServers(t), "sse", "/sse"), SSE: true})
}

// TestGoSDKForgetsSession replaces the official Go SDK's server by a new one
// without the old sessions.
func TestGoSDKForgetsSession(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[sdk.StreamableHTTPHandler]
	restart := func() {
		server := goServer(t.Context())
		current.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	}
	restart()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := mcpclient.Connect(ctx, &mcpclient.HTTP{URL: s.URL}, &mcpclient.Options{
		Sampling:    mcp.SamplingFunc(sample),
		Elicitation: person{},
		Roots:       []mcp.Root{{URI: workspace}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	before := c.SessionID()
	restart()
	listAll(t, ctx, c, goSDK)
	callAll(t, ctx, c)
	if after := c.SessionID(); before == "" || after == "" || after == before {
		t.Errorf("got session %q, then %q", before, after)
	}
}
