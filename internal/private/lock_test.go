package private

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
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
			if got := holders.Add(1); got != 1 {
				t.Errorf("got %d holders, want one", got)
			}
			holders.Add(-1)
			if err := unlock(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestLockWaitsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unlock() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
