package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/await"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const (
	asyncTimeout    = 5 * time.Second // bounds the sending of one message
	maxAsyncSending = 16              // messages that are being sent at the same time
	maxAsyncQueue   = 1024            // messages that wait to be sent

	// unreadTime is how long Close waits for a server to read from a pipe, which
	// takes a message at once unless the server has stopped to read.
	unreadTime = 500 * time.Millisecond
)

// asyncSender sends messages for which no caller waits: notices of cancellation, answers
// to pings, refusals. It has goroutines only while there is something to send.
type asyncSender struct {
	life *lifecycle
	log  *slog.Logger

	mu      sync.Mutex
	queue   []asyncMessage
	workers int
	dropped dropCount
	empty   chan struct{} // closed when the last message is out; nil while messages are taken
}

type asyncMessage struct {
	what   string          // for the log
	values context.Context // whose values the context of send has; nil for Connect's
	send   func(ctx context.Context) error
	failed func(err error) // logs it
}

func newAsyncSender(life *lifecycle, log *slog.Logger) *asyncSender {
	return &asyncSender{life: life, log: log}
}

// add queues a message. Beyond the bound it is dropped.
func (s *asyncSender) add(m asyncMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty != nil {
		return
	}
	if len(s.queue) >= maxAsyncQueue {
		s.dropped.count++
		return
	}
	s.queue = append(s.queue, m)
	if s.workers < maxAsyncSending && s.life.start(s.sendAll) {
		s.workers++
	}
}

// sendAll sends until the queue is empty.
func (s *asyncSender) sendAll() {
	for {
		m, dropped, ok := s.next()
		if dropped > 0 {
			s.log.Warn("dropped messages to the server: too many were waiting to be sent", "count", dropped)
		}
		if !ok {
			return
		}
		err := s.send(m)
		switch {
		case err == nil || errors.Is(err, ErrClosed):
		case errors.Is(err, transport.ErrSessionOver):
			s.log.Debug("message to the server dropped", "message", m.what, "because", err)
		default:
			m.failed(err)
		}
	}
}

// send sends a message within its time, unless the client is closed before that.
func (s *asyncSender) send(m asyncMessage) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmp.Or(m.values, s.life.ctx)), asyncTimeout)
	defer cancel()
	defer context.AfterFunc(s.life.ctx, cancel)()
	return m.send(ctx)
}

// next takes the oldest message. ok is false if the goroutine is to end.
func (s *asyncSender) next() (m asyncMessage, dropped int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := len(s.queue) == 0 || s.life.isClosed()
	dropped = s.dropped.report(idle)
	if idle {
		s.workers--
		s.queue = nil
		s.emptyLocked()
		return asyncMessage{}, dropped, false
	}
	m, s.queue[0] = s.queue[0], asyncMessage{}
	s.queue = s.queue[1:]
	return m, dropped, true
}

// finish takes no more messages, and waits until all are out, at most d.
func (s *asyncSender) finish(d time.Duration) {
	s.mu.Lock()
	empty := make(chan struct{})
	s.empty = empty
	s.emptyLocked()
	s.mu.Unlock()
	await.Closed(empty, d)
}

// emptyLocked closes the channel that says so, if all messages are out.
func (s *asyncSender) emptyLocked() {
	if s.workers == 0 && s.empty != nil {
		close(s.empty)
	}
}
