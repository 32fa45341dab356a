package hosting

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// storeWait is how long a store may take to answer a probe.
const storeWait = 2 * time.Second

// CheckStore returns an error if a store does not answer.
func CheckStore(ctx context.Context, store sqlstore.Store) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	_, err := store.Count(ctx, record.Query{AllTenants: true, Limit: 1})
	return err
}
