package mcpclient

import (
	"time"
)

// waitFor waits for a channel to be closed, but not longer than d, and reports
// whether it was.
func waitFor(c <-chan struct{}, d time.Duration) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-c:
		return true
	case <-late.C:
		return false
	}
}
