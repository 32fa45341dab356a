package run_test

import (
	"maps"
	"math"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Usage is subtracted from usage without costs, and sums do not overflow.
func TestSpent(t *testing.T) {
	rest := run.Spent{Turns: 3}.Since(run.Spent{Turns: 1, Cost: map[string]int64{"EUR": 2}})
	if rest.Turns != 2 || !maps.Equal(rest.Cost, map[string]int64{"EUR": -2}) {
		t.Errorf("got %+v", rest)
	}
	rest.Add(run.Spent{Turns: math.MaxInt})
	if rest.Turns != math.MaxInt {
		t.Errorf("got %d turns, want no overflow", rest.Turns)
	}
}
