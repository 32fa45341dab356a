// Package await waits for an event for a limited time.
package await

import (
	"io"
	"time"
)

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

// Close closes c, and reports whether Close returned within d, and with which error. On Windows,
// closing a file waits for a Read or Write that begins at the same time. A Close that does not
// return leaves its goroutine behind.
func Close(c io.Closer, d time.Duration) (closed bool, err error) {
	result := make(chan error, 1)
	go func() { result <- c.Close() }()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case err := <-result:
		return true, err
	case <-late.C:
		return false, nil
	}
}
