package lifecycle

import (
	"log/slog"
	"runtime/debug"
	"sync"
)

// CallbackQueue calls callbacks of the host, one at a time, in the order in which they were
// added. It has a goroutine only while there is something to call.
type CallbackQueue struct {
	life     *Lifecycle
	limit    int // waiting callbacks
	maxBytes int
	log      *slog.Logger

	mu      sync.Mutex
	queue   []callback
	bytes   int
	running bool
	dropped dropCount
}

type callback struct {
	run  func()
	size int
}

// NewCallbackQueue returns a queue for at most limit callbacks, which keep at most maxBytes in
// memory. A single callback is kept regardless of its size.
func NewCallbackQueue(life *Lifecycle, limit, maxBytes int, log *slog.Logger) *CallbackQueue {
	return &CallbackQueue{life: life, limit: limit, maxBytes: maxBytes, log: log}
}

// Add queues a callback, which keeps size bytes in memory. Beyond the bounds the oldest is dropped.
func (q *CallbackQueue) Add(run func(), size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, callback{run, size})
	q.bytes += size
	for len(q.queue) > q.limit || q.bytes > q.maxBytes && len(q.queue) > 1 {
		q.dequeueLocked()
		q.dropped.count++
	}
	if !q.running {
		q.running = q.life.StartHost(q.runAll)
	}
}

func (q *CallbackQueue) dequeueLocked() (run func()) {
	first := q.queue[0]
	q.queue[0] = callback{} // the array outlives the slice
	q.queue = q.queue[1:]
	q.bytes -= first.size
	return first.run
}

func (q *CallbackQueue) runAll() {
	for {
		run, dropped := q.next()
		if dropped > 0 {
			q.log.Warn("dropped notifications: the observer is slower than the server", "count", dropped)
		}
		if run == nil {
			return
		}
		q.call(run)
	}
}

// next returns the oldest callback, or nil if the goroutine has to end, and the number of dropped
// ones if it has to be logged.
func (q *CallbackQueue) next() (run func(), dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	idle := len(q.queue) == 0 || q.life.IsClosed()
	dropped = q.dropped.report(idle)
	if idle {
		q.running = false
		q.queue, q.bytes = nil, 0
		return nil, dropped
	}
	return q.dequeueLocked(), dropped
}

// call runs a callback. A panic is logged. If the callback ends its goroutine, by runtime.Goexit,
// another one continues.
func (q *CallbackQueue) call(run func()) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			q.log.Error("a callback panicked", "panic", p, "stack", string(debug.Stack()))
		} else if !returned {
			q.life.StartHost(q.runAll)
		}
	}()
	run()
	returned = true
}

// dropCount counts what a queue has dropped. The count is logged at the first drop and again when
// the queue is empty, so that a peer cannot fill the log.
type dropCount struct {
	count    int
	reported bool
}

// report returns the count if it has to be logged now, or 0. idle means that the queue is empty.
func (d *dropCount) report(idle bool) (count int) {
	if !d.reported || idle {
		count, d.count = d.count, 0
	}
	d.reported = !idle && (d.reported || count > 0)
	return count
}
