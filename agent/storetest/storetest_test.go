package storetest_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) run.Store { return fault(run.NewMemory()) })
}

// TestReopen takes a store in memory for one that outlives its process.
func TestReopen(t *testing.T) {
	s := run.NewMemory()
	storetest.Reopen(t, func(*testing.T) (run.Store, func()) { return s, func() {} })
}
