package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

// SendTimeout bounds the sending of one message.
const SendTimeout = 5 * time.Second

const (
	maxSending = 16   // messages that are being sent
	maxQueue   = 1024 // messages that wait
)

// SendQueue sends messages for which no caller waits: notices of cancellation, answers to
// pings, refusals. It has goroutines only while there is something to send.
type SendQueue struct {
	life *Lifecycle
	log  *slog.Logger

	mu      sync.Mutex
	queue   []Message
	workers int
	dropped dropCount
	empty   chan struct{} // closed when the last message was sent; nil while messages are accepted
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

// Add queues a message. It is dropped beyond the bound, and after [SendQueue.Finish].
func (s *SendQueue) Add(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty != nil {
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
		if err := s.send(m); err != nil && !errors.Is(err, s.life.opts.Closed) {
			m.OnError(err)
		}
	}
}

func (s *SendQueue) send(m Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmp.Or(m.Values, s.life.ctx)), SendTimeout)
	defer cancel()
	defer context.AfterFunc(s.life.ctx, cancel)()
	return m.Send(ctx)
}

// next returns the oldest message, and the number of dropped ones if it has to be logged. ok is
// false if the goroutine has to end.
func (s *SendQueue) next() (m Message, dropped int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := len(s.queue) == 0 || s.life.IsClosed()
	dropped = s.dropped.report(idle)
	if idle {
		s.workers--
		s.queue = nil
		s.closeIfEmptyLocked()
		return Message{}, dropped, false
	}
	m = s.queue[0]
	s.queue[0] = Message{} // the array outlives the slice
	s.queue = s.queue[1:]
	return m, dropped, true
}

// Finish accepts no more messages, and waits until all were sent, for at most d.
func (s *SendQueue) Finish(d time.Duration) {
	s.mu.Lock()
	empty := make(chan struct{})
	s.empty = empty
	s.closeIfEmptyLocked()
	s.mu.Unlock()
	await.Closed(empty, d)
}

func (s *SendQueue) closeIfEmptyLocked() {
	if s.workers == 0 && s.empty != nil {
		close(s.empty)
	}
}
