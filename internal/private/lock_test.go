package private

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			unlock, err := Lock(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			check.Equal(t, "holders", holders.Add(1), 1)
			holders.Add(-1)
			check.NoError(t, unlock())
		})
	}
	wg.Wait()
}

func TestLockWaitsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock := check.Value(Lock(t.Context(), path))(t)
	defer func() { _ = unlock() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(Lock(ctx, path)), context.Canceled)
}
