package approval

import (
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMemory(t *testing.T) {
	s := NewMemory().(*memory)
	for i := range maxDecisions {
		check.Must(t, s.Remember(t.Context(), sameTool("s", fmt.Sprint(i)), Decision{Allow: true}))
	}
	check.Is(t, s.Remember(t.Context(), sameTool("t", "one more"), Decision{}), errFull, "no room")
	check.NoError(t, s.Remember(t.Context(), sameTool("s", "0"), Decision{}), "what is there replaced")
	for tool, allowed := range map[string]bool{"0": false, "1": true} {
		d, found, err := s.Recall(t.Context(), sameTool("s", tool))
		check.That(t, d.Allow == allowed && found && err == nil, "%s: got %v, %t, %v, want the latest decision", tool, d, found, err)
	}
	check.NoError(t, s.Forget(t.Context(), "", "s"))
	check.Equal(t, "decisions", len(s.decisions), 0)
}
