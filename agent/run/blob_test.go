package run_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/storetest"
)

func TestTenantOfMemory(t *testing.T) {
	storetest.Tenant(t, func(*testing.T) (run.Store, func(run.Key, int64) run.Store) {
		store := run.NewMemory()
		return store, func(key run.Key, size int64) run.Store {
			run.GrowBlobs(store, key, size)
			return store
		}
	})
}
