package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/evals/oauth/peer"
)

// TestMain lets the test binary be the client that the suite runs.
func TestMain(m *testing.M) {
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// extensions are the scenarios of extensions, which the suite lists apart.
var extensions = []string{
	"auth/client-credentials-jwt", "auth/client-credentials-basic", "auth/enterprise-managed-authorization",
	"auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer",
}

// TestAuthScenarios runs every auth scenario of the official suite: no check
// may fail or warn.
func TestAuthScenarios(t *testing.T) {
	node, modules := peer.Node(t)
	suite := filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	listed, err := exec.CommandContext(t.Context(), node, suite, "list", "--client").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, listed)
	}
	var scenarios []string
	for _, m := range regexp.MustCompile(`(?m)^\s*- (auth/\S+)`).FindAllSubmatch(listed, -1) {
		scenarios = append(scenarios, string(m[1]))
	}
	for _, name := range extensions {
		if !slices.Contains(scenarios, name) {
			t.Errorf("the suite has no scenario %s", name)
		}
	}
	if len(scenarios) < 33 {
		t.Errorf("the suite has %d auth scenarios, want at least 33: %q", len(scenarios), scenarios)
	}
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) { runScenario(t, node, suite, name) })
	}
}

func runScenario(t *testing.T, node, suite, name string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results := t.TempDir()
	out, err := exec.CommandContext(ctx, node, suite, "client", "--command", os.Args[0], "--scenario", name, "-o", results).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(results, "*", "*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got results %q, %v, want one", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct{ ID, Status, Description, ErrorMessage string }
	if err := json.Unmarshal(data, &checks); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			t.Errorf("%s %s: %s %s", c.Status, c.ID, c.Description, c.ErrorMessage)
		}
	}
	if passed == 0 {
		t.Errorf("no check passed:\n%s", out)
	}
}
