package hosting

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// storeWait is how long a store may take to answer a probe.
const storeWait = 2 * time.Second

// CheckStore returns a [Refusal] if a store does not answer within storeWait.
func CheckStore(ctx context.Context, store sqlstore.Store) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if _, err := store.Count(ctx, record.Query{AllTenants: true, Limit: 1}); err != nil {
		return Refuse(http.StatusServiceUnavailable, "the store does not answer")
	}
	return nil
}
