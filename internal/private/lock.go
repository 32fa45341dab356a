package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Lock waits until no other caller, of this process or another, holds the lock on a file (mode 0600), and takes it. A
// process that ends gives it back. The file stays, because deleting it would allow two holders.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		locked, err := tryLock(f)
		if locked {
			return func() error { return errors.Join(unlockFile(f), f.Close()) }, nil
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			_ = f.Close()
			return nil, fmt.Errorf("lock %s, which is held: %w", path, ctx.Err())
		}
	}
}
