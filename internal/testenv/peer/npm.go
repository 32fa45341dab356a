// Package peer runs servers of others for tests: MCP servers of the official Go SDK, and an
// authorization server from npm.
package peer

import (
	"embed"
	"io/fs"
	"testing"

	"github.com/mcpchain/mcpchain/internal/testenv"
)

//go:embed npm
var files embed.FS

func install(t testing.TB) *testenv.NPM {
	t.Helper()
	set, err := fs.Sub(files, "npm")
	if err != nil {
		t.Fatal(err)
	}
	return testenv.InstallNPM(t, set)
}
