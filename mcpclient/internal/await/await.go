// Package await waits for an event for a limited time.
package await

import "time"

// Closed waits until c is closed, for at most d, and reports whether it is closed.
func Closed(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c: // even if d is 0
		return true
	default:
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-c:
		return true
	case <-late.C:
		return false
	}
}
