package adapter

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// testdata/losses.txt lists what each profile loses of the schemas of real servers, and which
// schemas are strict. A profile may lose less, but not more.
func TestNothingMoreIsLost(t *testing.T) {
	known := map[string]bool{}
	data, err := os.ReadFile("testdata/losses.txt")
	check.Must(t, err)
	for line := range strings.Lines(string(data)) {
		known[strings.TrimSuffix(line, "\n")] = true
	}
	all, schemas := publishedSchemas(t), 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file, _, _ := strings.Cut(name, "/")
		if !provenance[file].listed {
			continue
		}
		schemas++
		for _, p := range profile.All() {
			_, strict, changes := parametersOf(t, toolWith(t, string(all[name])), p)
			key := fmt.Sprintf("%s %s strict", name, p)
			check.That(t, !known[key] || strict, "%s: got it not strict", name)
			for _, c := range changes {
				row := fmt.Sprintf("%s %s %s %s %s", name, p, c.Effect, c.Path, c.Keyword)
				check.That(t, c.Effect == "same" || known[row], "got a new loss: %s (%s)", row, c.Note)
			}
		}
	}
	check.Equal(t, "schemas", schemas, 132)
}
