package stdio

import (
	"bytes"
	"cmp"
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
	maxSpare  = 16 << 10 // a buffer for writing that is larger is not kept
)

// writer is the write queue of a connection. It writes messages one after the other to dst, which may block, on a goroutine
// that exists while there is something to write. Messages that come meanwhile go out in one Write.
type writer struct {
	dst     io.Writer
	onError func(error) // called when dst failed; it calls refuse

	mu      sync.Mutex
	err     error         // the error of every later send
	next    []byte        // messages to be written
	spare   []byte        // an empty buffer for the time when next is being written
	queued  int           // bytes in next and in what is being written
	count   int64         // messages that were queued so far
	started int64         // messages that may have been written, at least in part
	stopped bool          // the queued messages are not written any more
	waiting []*waiter     // messages that wait for room, oldest first
	running bool          // the writing goroutine exists
	idle    chan struct{} // closed when that ends; nil while wait has no caller
}

// waiter is a message for which there was no room.
type waiter struct {
	message []byte
	number  int64      // set when it is queued
	done    chan error // gets one value: nil when the message is queued
}

// send queues a message and returns its number. It waits for room until ctx ends; then the message
// is not sent. After refuse it returns the error of refuse.
func (w *writer) send(ctx context.Context, message []byte) (number int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("send: %w", err)
	}
	if bytes.IndexByte(message, '\n') >= 0 {
		return 0, errors.New("send: the message holds a newline, which would end it: encode it without line breaks")
	}
	number, m, err := w.enqueue(message)
	if m == nil {
		return number, err
	}
	select {
	case err = <-m.done:
	case <-ctx.Done():
		if w.cancel(m) {
			return 0, fmt.Errorf("send: the server does not read: %w", ctx.Err())
		}
		err = <-m.done
	}
	return m.number, err
}

func (w *writer) enqueue(message []byte) (number int64, _ *waiter, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, nil, w.err
	}
	if len(w.waiting) == 0 && w.fitsLocked(message) {
		return w.appendLocked(message), nil, nil
	}
	m := &waiter{message: message, done: make(chan error, 1)}
	w.waiting = append(w.waiting, m)
	return 0, m, nil
}

// cancel removes m from the waiting messages. It returns false if m is queued already.
func (w *writer) cancel(m *waiter) bool {
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

func (w *writer) appendLocked(message []byte) int64 {
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
	w.count++
	return w.count
}

func (w *writer) admitLocked() {
	for len(w.waiting) > 0 && w.fitsLocked(w.waiting[0].message) {
		w.waiting[0].number = w.appendLocked(w.waiting[0].message)
		w.waiting[0].done <- nil
		w.waiting = slices.Delete(w.waiting, 0, 1)
	}
}

func (w *writer) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.next) > 0 && !w.stopped {
		batch, before := w.next, w.started
		w.next, w.spare = w.spare, nil
		w.started = w.count
		w.mu.Unlock()
		n, err := w.dst.Write(batch)
		if err != nil {
			w.abort(before + messagesIn(batch[:n]))
			w.onError(err)
		}
		w.mu.Lock()
		w.queued -= len(batch)
		if cap(batch) <= maxSpare {
			w.spare = batch[:0]
		}
		w.admitLocked()
	}
	w.queued -= len(w.next)
	if w.stopped {
		w.next = nil
	}
	w.running = false
	if w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// messagesIn counts the messages in written bytes, including one that is incomplete.
func messagesIn(written []byte) int64 {
	n := bytes.Count(written, []byte{'\n'})
	if len(written) > 0 && written[len(written)-1] != '\n' {
		n++
	}
	return int64(n)
}

// abort is called when dst failed. started is the number of messages that were written, at least in
// part. The queued ones are dropped.
func (w *writer) abort(started int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = started
	w.stopped = true
}

// drop drops the queued messages. A Write in progress is finished.
func (w *writer) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}

// unwritten reports whether nothing of a message was written, nor will be. It gives the last Write a moment to end: before
// that, all that was passed to it may have been written.
func (w *writer) unwritten(number int64) bool {
	w.mu.Lock()
	stopped := w.stopped
	w.mu.Unlock()
	if !stopped {
		return false
	}
	w.wait(closingTime)
	w.mu.Lock()
	defer w.mu.Unlock()
	return number > w.started
}

// refuse refuses messages from now on. Queued messages are still written.
func (w *writer) refuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = cmp.Or(w.err, err)
	for _, m := range w.waiting {
		m.done <- w.err
	}
	w.waiting = nil
}

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
