package conformance

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	_ "github.com/mcpchain/mcpchain/mcpclient" // so that go test knows what its result depends on
)

// expectedFailures lists what does not pass yet, one run a line. It only
// shrinks: a run that passes must be taken out.
//
//go:embed testdata/expected_failures.txt
var expectedFailures string

// TestConformance runs every client scenario of the official suite, under every
// revision that has it.
func TestConformance(t *testing.T) {
	s := install(t)
	client := build(t)
	expected := strings.Fields(expectedFailures)
	unknown := slices.Clone(expected)
	for _, r := range s.clientRuns(t) {
		name := r.String()
		fails := slices.Contains(expected, name)
		unknown = slices.DeleteFunc(unknown, func(e string) bool { return e == name })
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed, err := s.run(t.Context(), client, t.TempDir(), r)
			switch {
			case err == nil && fails:
				t.Errorf("it passes: take it out of testdata/expected_failures.txt")
			case err != nil && !fails:
				t.Error(err)
			case err == nil:
				t.Logf("%d checks passed", passed)
			}
		})
	}
	if len(unknown) > 0 {
		t.Errorf("expected_failures.txt lists what the suite does not have: %q", unknown)
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
