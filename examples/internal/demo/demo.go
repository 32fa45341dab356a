// Package demo gives the tests of lessons a server, a model, and an mcp.json.
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

// ServerArg makes the program of the tests the demo server.
const ServerArg = "serve-as-demo"

// Serve is for TestMain: it is the demo server, if the program has [ServerArg].
func Serve() (served bool) {
	if !slices.Contains(os.Args, ServerArg) {
		return false
	}
	_ = tryout.RunServer(context.Background()) // ends with the input
	return true
}

// Start writes an mcp.json with the demo server and with others, and starts the demo model, which the environment then names.
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

// Server is an entry of an mcp.json: the program of the tests with an argument.
func Server(t *testing.T, arg string) map[string]any {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"command": program, "args": []string{arg}}
}
