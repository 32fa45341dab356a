// Package demo has a server, a model and an mcp.json for the tests of examples.
package demo

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/internal/tryout"
)

// ServerArg is the argument that makes a test binary the demo server.
const ServerArg = "serve-as-demo"

// Serve runs the demo server if the test binary has the argument [ServerArg], and reports whether
// it did. Call it in TestMain.
func Serve() (served bool) {
	if !slices.Contains(os.Args, ServerArg) {
		return false
	}
	_ = tryout.RunServer(context.Background()) // ends with the input
	return true
}

// Start writes an mcp.json with the demo server and others, and returns its path. It starts the
// demo model, and sets the environment to use it.
func Start(t *testing.T, others map[string]any) (file string) {
	t.Helper()
	servers := map[string]any{"demo": Server(t, ServerArg)}
	maps.Copy(servers, others)
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	model, err := tryout.StartModel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	t.Setenv("OPENAI_API_KEY", "none")
	t.Setenv("OPENAI_MODEL", tryout.ModelName)
	t.Setenv("OPENAI_BASE_URL", model.BaseURL)
	return file
}

// Server returns an entry of an mcp.json that starts the test binary with an argument.
func Server(t *testing.T, arg string) map[string]any {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"command": program, "args": []string{arg}}
}
