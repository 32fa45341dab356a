package mcpchain_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestReadme checks that the program in the README is the quickstart, and that its commands work
// in CI and in the tree.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	program := read(t, "examples/quickstart/main.go")
	shown := blocks(readme, "go")
	if len(shown) != 1 {
		t.Fatalf("got %d Go programs in the README, want 1", len(shown))
	}
	rest := program
	for line := range strings.Lines(shown[0]) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		_, after, found := strings.Cut(rest, "\n"+line)
		if !found {
			t.Errorf("the quickstart has no line %q after the ones before", line)
			continue
		}
		rest = "\n" + after
	}
	if !strings.Contains(readme, "\ngo test work\n") || !strings.Contains(read(t, ".ci/run"), "\ngo test work\n") {
		t.Error("the test command of the README is not the one that CI runs")
	}
}

// TestLinks checks links of documents to files and headings of the repository.
func TestLinks(t *testing.T) {
	for _, document := range documents(t) {
		for _, link := range regexp.MustCompile(`\]\(([^):\s]+)\)`).FindAllStringSubmatch(read(t, document), -1) {
			file, heading, _ := strings.Cut(link[1], "#")
			target := document
			if file != "" {
				target = path.Join(path.Dir(document), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link: %v", document, err)
			} else if heading != "" && !slices.Contains(headings(read(t, target)), heading) {
				t.Errorf("%s: %s has no heading %s", document, target, heading)
			}
		}
	}
}

// headings returns the anchors that GitHub makes for the headings of a document.
func headings(document string) (anchors []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(document, -1) {
		text := regexp.MustCompile(`[^\pL\pN -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(text, " ", "-"))
	}
	return anchors
}

func read(t *testing.T, name string) string {
	data, err := os.ReadFile(name)
	check.Must(t, err)
	return string(data)
}
