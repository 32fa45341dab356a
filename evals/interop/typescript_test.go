package interop

import (
	"bufio"
	"os/exec"
	"strings"
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
	cmd := exec.CommandContext(t.Context(), set.Node(), set.Path("modern.mjs"), "http")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // killed by then: t.Context has ended
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the server did not start: %v\n%s", err, &stderr)
	}
	return &mcpclient.HTTP{URL: "http://127.0.0.1:" + strings.TrimSpace(port) + "/mcp"}
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
