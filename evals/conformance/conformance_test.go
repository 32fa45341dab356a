package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	// So that go test knows what its result depends on.
	_ "github.com/mcpchain/mcpchain/mcpclient"
	_ "github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// TestConformance runs every client scenario of the official suite, under every
// revision that has it. No check may fail or warn, and each run must make some.
func TestConformance(t *testing.T) {
	s := install(t)
	client := build(t)
	runs := s.clientRuns(t)
	if len(runs) < 60 {
		t.Errorf("the suite lists %d runs for clients, want at least 60", len(runs))
	}
	for _, r := range runs {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			passed, err := s.run(t.Context(), client, t.TempDir(), r)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d checks passed", passed)
		})
	}
}

// build builds the client.
func build(t *testing.T) string {
	sources, err := filepath.Glob("client/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if _, err := os.Stat(s); err != nil { // go test sees it and runs again when it changes
			t.Fatal(err)
		}
	}
	client := filepath.Join(t.TempDir(), "client")
	if runtime.GOOS == "windows" {
		client += ".exe"
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", client, "./client").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return client
}
