package lifecycle

import "context"

// Slots is a semaphore: its capacity is the number of slots.
type Slots chan struct{}

// TryAcquire takes a slot if one is free.
func (s Slots) TryAcquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// Acquire waits for a slot. It returns false if ctx ends or closing is closed first.
func (s Slots) Acquire(ctx context.Context, closing <-chan struct{}) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-closing:
		return false
	case <-ctx.Done():
		return false
	}
}

// Release returns a slot.
func (s Slots) Release() { <-s }
