package mcpchain

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadme holds what the README shows against what is run: its program
// against the quickstart, its commands against CI and the tree.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	program := read(t, "examples/quickstart/main.go")
	shown := blocks(readme, "go")
	if len(shown) != 1 {
		t.Fatalf("got %d Go programs in the README, want 1", len(shown))
	}
	rest := program
	for _, line := range strings.Split(strings.TrimSpace(shown[0]), "\n") {
		_, after, found := strings.Cut(rest, "\t"+line+"\n")
		if !found {
			t.Errorf("the quickstart has no line %q after the ones before", line)
			continue
		}
		rest = after
	}
	if !strings.Contains(readme, "\ngo test ./...\n") || !strings.Contains(read(t, ".ci/run"), "\ngo test ./...\n") {
		t.Error("the test command of the README is not the one that CI runs")
	}
	for _, link := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(link[1]); err != nil {
			t.Errorf("link: %v", err)
		}
	}
}

func read(t *testing.T, name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
