package interop

import (
	"regexp"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// typescriptCommand runs testdata/npm/modern.mjs over stdio.
func typescriptCommand(t *testing.T) mcpclient.Transport {
	set := npmServers(t)
	return &mcpclient.Command{Path: set.Node(), Args: []string{set.Path("modern.mjs"), "stdio"}}
}

// typescriptHTTP runs it over Streamable HTTP.
func typescriptHTTP(t *testing.T) mcpclient.Transport {
	set := npmServers(t)
	port := set.Listen(t, regexp.MustCompile(`^(\d+)$`), set.Path("modern.mjs"), "http")
	return &mcpclient.HTTP{URL: "http://127.0.0.1:" + port + "/mcp"}
}

// TestTypeScriptSDK has a server on the official SDK for TypeScript as its peer.
func TestTypeScriptSDK(t *testing.T) {
	t.Parallel()
	p := peer{name: "typescript-sdk"}
	const revision = mcp.Revision20260728
	t.Run("probed", func(t *testing.T) {
		t.Run("stdio", func(t *testing.T) { scenario(t, p, typescriptCommand(t), "", revision) })
		t.Run("http", func(t *testing.T) { scenario(t, p, typescriptHTTP(t), "", revision) })
	})
	t.Run(revision, func(t *testing.T) {
		t.Run("stdio", func(t *testing.T) { scenario(t, p, typescriptCommand(t), revision, revision) })
		t.Run("http", func(t *testing.T) { scenario(t, p, typescriptHTTP(t), revision, revision) })
	})
	for _, revision := range []string{
		mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105,
	} {
		t.Run(revision, func(t *testing.T) { scenario(t, p, typescriptCommand(t), revision, revision) })
	}
}
