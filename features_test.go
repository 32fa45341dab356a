package mcpchain_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestFeatures checks that docs/features.md has every row, and that each row is open or names existing tests.
func TestFeatures(t *testing.T) {
	var got, want []string
	for _, line := range strings.Split(read(t, "docs/features.md"), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !regexp.MustCompile(`^[A-Z]\d+$`).MatchString(id) {
			continue
		}
		got = append(got, id)
		if len(cells) != 4 {
			t.Errorf("row %s has %d cells, want 4", id, len(cells))
			continue
		}
		checkProof(t, id, strings.TrimSpace(cells[3]))
	}
	for _, chapter := range []struct {
		letter string
		rows   int
	}{{"A", 25}, {"B", 17}, {"C", 6}, {"D", 12}, {"E", 19}, {"F", 9}, {"G", 19}, {"H", 13}, {"J", 4}, {"K", 11}, {"L", 6}, {"M", 5}, {"Q", 6}, {"R", 2}} {
		for i := range chapter.rows {
			want = append(want, fmt.Sprintf("%s%d", chapter.letter, i+1))
		}
	}
	check.Same(t, "rows", got, want)
}

// TestTablesOfGuides checks that each row of two tables is open or names existing tests.
func TestTablesOfGuides(t *testing.T) {
	for _, table := range []struct{ guide, heading, folder string }{
		{"docs/apps.md", "## Rules for hosts", ""},
		{"docs/adapter.md", "## Problems of other adapters", "adapter"}, // of tests without one
	} {
		_, text, _ := strings.Cut(read(t, table.guide), table.heading)
		_, text, _ = strings.Cut(text, "\n|---") // the first table
		text, _, _ = strings.Cut(text, "\n\n")
		rows := strings.Split(text, "\n")[1:]
		for _, row := range rows {
			cells := strings.Split(strings.Trim(row, "| "), " | ")
			proof := cells[len(cells)-1]
			if first, _, _ := strings.Cut(proof, ";"); table.folder != "" && !strings.Contains(first, ": ") {
				proof = table.folder + ": " + proof
			}
			checkProof(t, fmt.Sprintf("%q of %s", cells[0], table.guide), proof)
		}
		check.That(t, len(rows) >= 30, "%s: got %d rows, want the table", table.guide, len(rows))
	}
}

// checkProof checks a cell of the form "open", "open: what is missing", or "folder: TestA, TestB; folder: TestC".
func checkProof(t *testing.T, id, proof string) {
	if proof == "open" || strings.HasPrefix(proof, "open: ") {
		return
	}
	for _, part := range strings.Split(proof, ";") {
		folder, names, ok := strings.Cut(strings.TrimSpace(part), ": ")
		if !ok {
			t.Errorf("row %s: %q is neither open nor a list of tests", id, part)
			continue
		}
		for _, name := range strings.Split(names, ",") {
			name = strings.TrimSpace(name)
			check.That(t, definesTest(t, folder, name), "row %s: no test %s in %s", id, name, folder)
		}
	}
}

func definesTest(t *testing.T, folder, name string) bool {
	return slices.ContainsFunc(glob(t, filepath.Join(folder, "*_test.go")), func(file string) bool {
		return strings.Contains(read(t, file), "\nfunc "+name+"(")
	})
}
