package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/examples/internal/demomodel"
	"github.com/mcpchain/mcpchain/examples/internal/demoserver"
)

const roleVariable = "MCPCHAIN_QUICKSTART_ROLE"

// TestMain makes this program the quickstart, or the server that it starts.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "main":
		_ = os.Setenv(roleVariable, "server") // for the child
		main()
	case "server":
		if err := demoserver.Run(context.Background()); err != nil {
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// TestQuickstart runs the program of the README.
func TestQuickstart(t *testing.T) {
	model, err := demomodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, program)
	cmd.Env = append(os.Environ(), roleVariable+"=main", "OPENAI_API_KEY=none", "OPENAI_MODEL=demo", "OPENAI_BASE_URL="+model.BaseURL)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "42") {
		t.Errorf("got %v and %q, want an answer with 42", err, out)
	}
}
