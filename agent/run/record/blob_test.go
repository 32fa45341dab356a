package record_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
)

func TestTenantOfMemory(t *testing.T) {
	storetest.Tenant(t, func(*testing.T) (record.Store, func(run.Key, int64) record.Store) {
		store := record.NewMemory()
		return store, func(key run.Key, size int64) record.Store {
			record.GrowBlobs(store, key, size)
			return store
		}
	})
}
