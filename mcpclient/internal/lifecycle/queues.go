package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

// CallbackQueue calls callbacks of the host, one at a time, in the order in which they were
// added. Beyond its bounds it drops the oldest. It has a goroutine only while there is something
// to call.
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

// Add queues a callback, which keeps size bytes in memory. It is dropped once the client is closed.
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
		q.startLocked()
	}
}

// startLocked starts the goroutine, or drops all if the client is closed.
func (q *CallbackQueue) startLocked() {
	if q.running = q.life.StartHost(q.runAll); !q.running {
		q.queue, q.bytes = nil, 0
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
			q.mu.Lock()
			defer q.mu.Unlock()
			q.startLocked()
		}
	}()
	run()
	returned = true
}

// dropCount counts what a queue has dropped. The count is logged at the first drop and again when
// the queue is empty, not at each drop.
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

// SendTimeout bounds the sending of one message.
const SendTimeout = 5 * time.Second

const (
	maxSending = 16   // messages that are being sent
	maxQueue   = 1024 // messages that wait
)

// SendQueue sends messages for which no caller waits: notices of cancellation, answers to
// pings, refusals. It begins them in the order in which they were added, and sends several at a
// time, so they may arrive in another. Beyond its bound it drops the newest. It has goroutines
// only while there is something to send.
type SendQueue struct {
	life *Lifecycle
	log  *slog.Logger

	mu       sync.Mutex
	queue    []Message
	workers  int
	dropped  dropCount
	finished chan struct{} // closed when the last message was sent; nil while messages are accepted
}

// Message is a message for which no caller waits.
type Message struct {
	Values  context.Context // has the values for the context of Send; nil: the context of the lifecycle
	Send    func(ctx context.Context) error
	OnError func(err error) // logs it; not called for [Options.Closed]
}

// NewSendQueue returns an empty queue.
func NewSendQueue(life *Lifecycle, log *slog.Logger) *SendQueue {
	return &SendQueue{life: life, log: log}
}

// Add queues a message. It is dropped beyond the bound, after [SendQueue.Finish], and once the
// client is closed.
func (s *SendQueue) Add(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished != nil {
		return
	}
	if len(s.queue) >= maxQueue {
		s.dropped.count++
		return
	}
	s.queue = append(s.queue, m)
	if s.workers < maxSending && s.life.Start(s.sendAll) {
		s.workers++
	}
	if s.workers == 0 {
		s.queue = nil // the client is closed
	}
}

func (s *SendQueue) sendAll() {
	for {
		m, dropped, ok := s.next()
		if dropped > 0 {
			s.log.Warn("dropped messages to the server: too many were waiting to be sent", "count", dropped)
		}
		if !ok {
			return
		}
		s.send(m)
	}
}

// send sends a message. If a hook of the host ends the goroutine, by runtime.Goexit, another one
// continues.
func (s *SendQueue) send(m Message) {
	returned := false
	defer func() {
		if !returned {
			s.replaceWorker()
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmp.Or(m.Values, s.life.ctx)), SendTimeout)
	defer cancel()
	defer context.AfterFunc(s.life.ctx, cancel)()
	if err := m.Send(ctx); err != nil && !errors.Is(err, s.life.opts.Closed) {
		m.OnError(err)
	}
	returned = true
}

func (s *SendQueue) replaceWorker() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.life.Start(s.sendAll) {
		s.endWorkerLocked()
	}
}

// next returns the oldest message, and the number of dropped ones if it has to be logged. ok is
// false if the goroutine has to end.
func (s *SendQueue) next() (m Message, dropped int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := len(s.queue) == 0 || s.life.IsClosed()
	dropped = s.dropped.report(idle)
	if idle {
		s.endWorkerLocked()
		return Message{}, dropped, false
	}
	m = s.queue[0]
	s.queue[0] = Message{} // the array outlives the slice
	s.queue = s.queue[1:]
	return m, dropped, true
}

// endWorkerLocked ends a goroutine that finds nothing to send, or the client closed.
func (s *SendQueue) endWorkerLocked() {
	s.workers--
	s.queue = nil
	if s.workers == 0 && s.finished != nil {
		close(s.finished)
	}
}

// Finish accepts no more messages, and waits until all were sent, for at most d.
func (s *SendQueue) Finish(d time.Duration) {
	s.mu.Lock()
	if s.finished == nil {
		s.finished = make(chan struct{})
		if s.workers == 0 {
			close(s.finished)
		}
	}
	finished := s.finished
	s.mu.Unlock()
	await.Closed(finished, d)
}
