package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/chaos/witness"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestDriveAfterFailures drives runs whose store fails before they exist.
func TestDriveAfterFailures(t *testing.T) {
	for _, method := range []string{"load", "create"} {
		world := httptest.NewServer(witness.New(time.Millisecond, "effect"))
		defer world.Close()
		var mu sync.Mutex
		failures := 2
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			mu.Lock()
			mustFail := c.Method == method && failures > 0
			if mustFail {
				failures--
			}
			mu.Unlock()
			if mustFail {
				return errors.New("the store is down")
			}
			return c.Do()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := &harness{Runs: 2, URL: world.URL}
		check.NoError(t, h.drive(ctx, store), method)
	}
}
