package trial

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestSeedOnce: a server that a sub-agent starts again finds what the first one has made of the files.
func TestSeedOnce(t *testing.T) {
	p := &player{Trial: &Trial{Suite: &suite.Suite{}}, dir: t.TempDir()}
	s := &suite.Server{Command: []string{"server"}, Seed: map[string]json.RawMessage{"a/b.txt": json.RawMessage(`"seed"`)}}
	file := filepath.Join(p.dir, "a", "b.txt")
	for _, want := range []string{"seed", "changed"} {
		check.Must(t, check.Err(p.command("s", s)))
		got, err := os.ReadFile(file)
		check.Must(t, err)
		check.Equal(t, "the file", string(got), want)
		check.Must(t, os.WriteFile(file, []byte("changed"), 0o600))
	}
}
