package interop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
	t.Run("fallback", func(t *testing.T) { scenario(t, p, &mcpclient.HTTP{URL: goSSE(t)}, "", mcp.Revision20251125) })
}

// TestServerEverythingOverSSE has the reference server as its peer.
func TestServerEverythingOverSSE(t *testing.T) {
	t.Parallel()
	everything(t, &mcpclient.HTTP{URL: everythingAt(t, npmServers(t), "sse", "/sse"), SSE: true})
}

// replaced connects to a server over HTTP, which replace replaces by another one, without its sessions.
func replaced(t *testing.T, path string, start func() http.Handler) (ctx context.Context, c *mcpclient.Client, replace func()) {
	t.Helper()
	type server struct{ http.Handler } // atomic.Value wants one type
	var current atomic.Value
	replace = func() { current.Store(server{start()}) }
	replace()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().(server).ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	ctx, c = connect(t, &mcpclient.HTTP{URL: s.URL + path}, mcpclient.Options{})
	return ctx, c, replace
}

// TestGoSDKForgetsSession replaces the official Go SDK's server by a new one without the old sessions.
func TestGoSDKForgetsSession(t *testing.T) {
	t.Parallel()
	ctx, c, replace := replaced(t, "", func() http.Handler {
		server := goServer(t.Context())
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	})
	before := c.SessionID()
	replace()
	listAll(t, ctx, c, goSDK)
	callAll(t, ctx, c)
	after := c.SessionID()
	check.That(t, before != "" && after != "" && after != before, "got session %q, then %q", before, after)
}

// TestServerEverythingForgetsSession replaces the reference server by another one, which answers 400 to the session of the first.
func TestServerEverythingForgetsSession(t *testing.T) {
	t.Parallel()
	set := npmServers(t)
	ctx, c, replace := replaced(t, "/mcp", func() http.Handler {
		target := check.Value(url.Parse(everythingAt(t, set, "streamableHttp", "")))(t)
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	})
	before := c.SessionID()
	replace()
	check.Is(t, check.Err(c.CallTool(ctx, "echo", map[string]any{"message": "x"})), mcpclient.ErrSessionLost)
	check.NoError(t, check.Err(c.CallTool(ctx, "echo", map[string]any{"message": "x"})), "in the new session")
	after := c.SessionID()
	check.That(t, before != "" && after != "" && after != before, "got sessions %q and %q, want two", before, after)
}
