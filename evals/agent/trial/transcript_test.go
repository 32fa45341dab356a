package trial

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/evals/agent/grade"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// A long text is cut between two characters.
func TestTranscriptIsCut(t *testing.T) {
	task := &suite.Task{System: "a" + strings.Repeat("é", maxText)}
	all := transcript(task, &grade.Evidence{State: &ledger.State{}})
	check.Require(t, len(all) == 1, "got %d entries, want 1", len(all))
	text := strings.TrimSuffix(all[0].Text, "…")
	check.Equal(t, "bytes", len(text), maxText-1)
	check.Equal(t, "valid", utf8.ValidString(text), true)
}

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
