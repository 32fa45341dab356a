package storetest_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) record.Store { return fault(record.NewMemory()) })
}

// TestReopen treats a store in memory as one that outlives its process.
func TestReopen(t *testing.T) {
	s := record.NewMemory()
	storetest.Reopen(t, func(*testing.T) (record.Store, func()) { return s, func() {} })
}
