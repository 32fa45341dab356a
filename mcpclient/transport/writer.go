package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	maxQueued = 1 << 20  // messages that wait to be written, in bytes
	keptQueue = 16 << 10 // a buffer for writing that is larger is not kept
)

// outbox writes messages one after the other to a writer that may block, on a
// goroutine that exists while there is something to write. Messages that come
// meanwhile go out in one Write. While they come one by one, an offerer gets them on
// the goroutine of their sender.
type outbox struct {
	dst    io.Writer
	offers offerer     // dst in other words, nil where it has none
	failed func(error) // called when dst failed; it calls shut

	run     func() // flush, once it was needed
	mu      sync.Mutex
	err     error         // of every later send
	next    []byte        // messages to be written
	count   int           // of the messages in next
	busy    bool          // what was written last was more than one
	spare   []byte        // an empty buffer for the time when next is being written
	queued  int           // bytes in next, and those being written
	waiting []*waiter     // for room, first come first served
	writing bool          // a sender writes, or the writing goroutine exists
	idle    chan struct{} // closed when that ends; nil when nobody waits for it
}

// offerer takes some of b, of which it returns the length, without waiting. What is
// wrong is said elsewhere, by a Write of the same.
type offerer interface {
	offer(b []byte) (n int)
}

// waiter is a message for which there was no room.
type waiter struct {
	message []byte
	done    chan error // gets one value: nil when the message is queued
}

func (o *outbox) send(ctx context.Context, message []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if bytes.IndexByte(message, '\n') >= 0 {
		return errors.New("send: the message holds a newline, which would end it: encode it without line breaks")
	}
	w, err := o.queue(message)
	if w == nil {
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		if o.giveUp(w) {
			return fmt.Errorf("send: the server does not read: %w", ctx.Err())
		}
		return <-w.done
	}
}

// queue returns a waiter when there is no room.
func (o *outbox) queue(message []byte) (*waiter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return nil, o.err
	}
	if len(o.waiting) == 0 && o.fitsLocked(message) {
		o.appendLocked(message)
		return nil, nil
	}
	w := &waiter{message, make(chan error, 1)}
	o.waiting = append(o.waiting, w)
	return w, nil
}

// giveUp reports whether w was still waiting.
func (o *outbox) giveUp(w *waiter) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.waiting, w)
	if i < 0 {
		return false
	}
	o.waiting = slices.Delete(o.waiting, i, i+1)
	o.admitLocked() // those behind it may be smaller
	return true
}

func (o *outbox) fitsLocked(message []byte) bool {
	return o.queued == 0 || o.queued+len(message) < maxQueued
}

// appendLocked queues a message, and writes it, not locked meanwhile, unless something
// is being written.
func (o *outbox) appendLocked(message []byte) {
	o.next = append(slices.Grow(o.next, len(message)+1), message...)
	o.next = append(o.next, '\n')
	o.queued += len(message) + 1
	o.count++
	if o.writing {
		return
	}
	o.writing = true
	if o.offers != nil && !o.busy && o.offerLocked() {
		return
	}
	if o.run == nil {
		o.run = o.flush
	}
	go o.run()
}

// offerLocked writes without waiting, and reports whether nothing is left to be
// written. It is not locked meanwhile.
func (o *outbox) offerLocked() (all bool) {
	batch := o.takeLocked()
	o.mu.Unlock()
	n := o.offers.offer(batch)
	o.mu.Lock()
	if n < len(batch) { // a slice of it would hide how large the buffer is
		o.next = append(batch[:copy(batch, batch[n:])], o.next...)
	}
	o.wroteLocked(batch, n)
	return !o.writing
}

// takeLocked returns what is to be written next.
func (o *outbox) takeLocked() (batch []byte) {
	batch = o.next
	o.next, o.spare = o.spare, nil
	o.busy, o.count = o.count > 1, 0
	return batch
}

// wroteLocked ends the writing of n bytes of a batch, and all writing when there is
// nothing more to be written.
func (o *outbox) wroteLocked(batch []byte, n int) {
	o.queued -= n
	if n == len(batch) && cap(batch) <= keptQueue {
		o.spare = batch[:0]
	}
	o.admitLocked()
	if len(o.next) > 0 {
		return
	}
	o.writing = false
	if o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
}

// admitLocked does not write: while anything waits, something is being written.
func (o *outbox) admitLocked() {
	for len(o.waiting) > 0 && o.fitsLocked(o.waiting[0].message) {
		o.appendLocked(o.waiting[0].message)
		o.waiting[0].done <- nil
		o.waiting = slices.Delete(o.waiting, 0, 1)
	}
}

// flush writes until nothing is queued.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		batch := o.takeLocked()
		o.mu.Unlock()
		_, err := o.dst.Write(batch)
		if err != nil {
			o.failed(err)
		}
		o.mu.Lock()
		if err != nil {
			o.next, o.count, o.queued = nil, 0, len(batch)
		}
		o.wroteLocked(batch, len(batch))
	}
}

// shut refuses messages from now on. What is queued is still written.
func (o *outbox) shut(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	for _, w := range o.waiting {
		w.done <- o.err
	}
	o.waiting = nil
}

// wait waits until nothing is written any more, but not longer than d.
func (o *outbox) wait(d time.Duration) {
	o.mu.Lock()
	if o.writing && o.idle == nil {
		o.idle = make(chan struct{})
	}
	idle := o.idle
	o.mu.Unlock()
	if idle != nil {
		waitFor(idle, d)
	}
}

// waitFor waits for a channel to be closed, but not longer than d, and reports
// whether it was.
func waitFor(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c: // as it mostly is
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
