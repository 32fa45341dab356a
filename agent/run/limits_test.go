package run_test

import (
	"maps"
	"math"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Usage is subtracted from usage without costs, and sums do not overflow.
func TestSpent(t *testing.T) {
	rest := run.Usage{Turns: 3}.Since(run.Usage{Turns: 1, Cost: map[string]int64{"EUR": 2}})
	check.That(t, rest.Turns == 2 && maps.Equal(rest.Cost, map[string]int64{"EUR": -2}), "got %+v", rest)
	rest.Add(run.Usage{Turns: math.MaxInt})
	check.That(t, rest.Turns == math.MaxInt, "got %d turns, want no overflow", rest.Turns)
}
