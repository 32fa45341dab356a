package mcpclient

import "context"

// slots bound what runs at the same time: a semaphore.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// tryAcquire takes a slot, if one is free.
func (s slots) tryAcquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// acquire waits for a slot. It reports false if ctx ends, or closing is closed, before
// one is free.
func (s slots) acquire(ctx context.Context, closing <-chan struct{}) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-closing:
		return false
	case <-ctx.Done():
		return false
	}
}

func (s slots) release() { <-s }
