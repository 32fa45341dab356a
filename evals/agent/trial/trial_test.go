package trial

import (
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
