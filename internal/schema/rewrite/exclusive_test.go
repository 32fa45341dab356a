package rewrite

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Alternatives are compared until that takes too many steps.
func TestExclusive(t *testing.T) {
	branches := func(n int) []map[string]any {
		var out []map[string]any
		for i := range n {
			out = append(out, map[string]any{"const": json.Number(fmt.Sprint(i))})
		}
		return out
	}
	for n, want := range map[int]bool{2: true, 300: true, 3000: false} {
		_, _, got := exclusive(&tree.Document{Left: 1 << 20}, branches(n))
		check.That(t, got == want, "%d alternatives: got %v, want %v", n, got, want)
	}
}
