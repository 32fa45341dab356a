package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/demomodel"
	"github.com/mcpchain/mcpchain/internal/demoserver"
)

const serverArg = "serve-as-demo"

// TestMain makes this program the server of the file, too.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, serverArg) {
		_ = demoserver.Run(context.Background()) // ends with the input
		return
	}
	os.Exit(m.Run())
}

// TestConversation has three turns: what was allowed once for always is not asked about again.
func TestConversation(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"demo": map[string]any{"command": program, "args": []string{serverArg}}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	model, err := demomodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	t.Setenv("OPENAI_API_KEY", "none")
	t.Setenv("OPENAI_MODEL", demomodel.Name)
	t.Setenv("OPENAI_BASE_URL", model.BaseURL)

	var shown, answers strings.Builder
	you := &mcpchain.Terminal{In: strings.NewReader("What is 17 plus 25?\na\nWhat is 1 plus 2?\n"), Out: &shown}
	if err := converse(t.Context(), file, you, &answers); err != nil {
		t.Fatal(err)
	}
	const want = "The result: 17 + 25 = 42.\nThe result: 1 + 2 = 3.\n"
	if answers.String() != want || strings.Count(shown.String(), "Run ") != 1 || strings.Count(shown.String(), "you: ") != 3 {
		t.Errorf("got %q, and the person saw %q", &answers, &shown)
	}
}
