package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

const (
	maxQueued = 1 << 20  // messages that wait to be written, in bytes
	keptQueue = 16 << 10 // a buffer for writing that is larger is not kept
)

// writer is the write queue of a connection. It writes messages one after the other
// to dst, which may block, on a goroutine that exists while there is something to
// write. Messages that come meanwhile go out in one Write.
type writer struct {
	dst    io.Writer
	failed func(error) // called when dst failed; it calls refuse

	mu      sync.Mutex
	err     error         // of every later send
	next    []byte        // messages to be written
	spare   []byte        // an empty buffer for the time when next is being written
	queued  int           // bytes in next and in what is being written
	waiting []*waiter     // for room, first come first served
	running bool          // the writing goroutine exists
	idle    chan struct{} // closed when that ends; nil while wait has no caller
}

// waiter is a message for which there was no room.
type waiter struct {
	message []byte
	done    chan error // gets one value: nil when the message is queued
}

func (w *writer) send(ctx context.Context, message []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if bytes.IndexByte(message, '\n') >= 0 {
		return errors.New("send: the message holds a newline, which would end it: encode it without line breaks")
	}
	m, err := w.enqueue(message)
	if m == nil {
		return err
	}
	select {
	case err := <-m.done:
		return err
	case <-ctx.Done():
		if w.giveUp(m) {
			return fmt.Errorf("send: the server does not read: %w", ctx.Err())
		}
		return <-m.done
	}
}

// enqueue returns a waiter if there is no room.
func (w *writer) enqueue(message []byte) (*waiter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if len(w.waiting) == 0 && w.fitsLocked(message) {
		w.appendLocked(message)
		return nil, nil
	}
	m := &waiter{message, make(chan error, 1)}
	w.waiting = append(w.waiting, m)
	return m, nil
}

// giveUp reports whether m was still waiting.
func (w *writer) giveUp(m *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, m)
	if i < 0 {
		return false
	}
	w.waiting = slices.Delete(w.waiting, i, i+1)
	w.admitLocked() // the messages behind it may be smaller
	return true
}

func (w *writer) fitsLocked(message []byte) bool {
	return w.queued == 0 || w.queued+len(message) < maxQueued
}

// appendLocked queues a message.
func (w *writer) appendLocked(message []byte) {
	if w.next == nil {
		w.next, w.spare = w.spare, nil
	}
	w.next = append(slices.Grow(w.next, len(message)+1), message...)
	w.next = append(w.next, '\n')
	w.queued += len(message) + 1
	if !w.running {
		w.running = true
		go w.run()
	}
}

// admitLocked queues the waiting messages that have room.
func (w *writer) admitLocked() {
	for len(w.waiting) > 0 && w.fitsLocked(w.waiting[0].message) {
		w.appendLocked(w.waiting[0].message)
		w.waiting[0].done <- nil
		w.waiting = slices.Delete(w.waiting, 0, 1)
	}
}

// run writes until nothing is queued.
func (w *writer) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.next) > 0 {
		batch := w.next
		w.next, w.spare = w.spare, nil
		w.mu.Unlock()
		_, err := w.dst.Write(batch)
		if err != nil {
			w.failed(err)
		}
		w.mu.Lock()
		if err != nil {
			w.next, w.queued = nil, len(batch)
		}
		w.queued -= len(batch)
		if cap(batch) <= keptQueue {
			w.spare = batch[:0]
		}
		w.admitLocked()
	}
	w.running = false
	if w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// refuse refuses messages from now on. What is queued is still written.
func (w *writer) refuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	for _, m := range w.waiting {
		m.done <- w.err
	}
	w.waiting = nil
}

// wait waits until nothing is written any more, but not longer than d.
func (w *writer) wait(d time.Duration) {
	w.mu.Lock()
	if w.running && w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	if idle != nil {
		await.Closed(idle, d)
	}
}
