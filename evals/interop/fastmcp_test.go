package interop

import (
	"os"
	"testing"

	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
