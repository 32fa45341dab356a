package mcpclient

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// Bounds of the wait for the server to open its standalone stream: four times what the handshake
// took, as a distant or busy server needs longer, but no less and no more than these. Some servers
// open the stream only with its first event.
const (
	minStreamGrace = 500 * time.Millisecond
	maxStreamGrace = 5 * time.Second
)

// standaloneStream is the stream on which a legacy server over HTTP sends everything but
// responses. It is opened when the host wants these messages.
type standaloneStream struct {
	*peer
	sessions *sessions
	ping     func(context.Context) error // decides whether the session is lost
	stale    func()                      // messages of the server may have been lost

	handshakeTime atomic.Int64 // nanoseconds that the latest handshake took

	mu     sync.Mutex
	wanted bool
	stop   context.CancelFunc // ends the reading; nil before it begins
	ready  chan struct{}      // closed when the wait for the stream is over; nil before the reading begins
}

func (s *standaloneStream) isWanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted
}

func (s *standaloneStream) stopReading() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

// open opens the stream, if the era and the connection can have one, and keeps it open from now on. Without a new session it
// does so only if it was not opened before. It returns when the stream is open, when the stream has ended, or after the wait: a
// server drops what it would send before the stream is open.
func (s *standaloneStream) open(ctx context.Context, newSession bool) {
	if !s.peer.current().has(standaloneStreams) {
		return
	}
	select {
	case <-s.begin(newSession):
	case <-ctx.Done():
	}
}

// begin starts to read the stream for [standaloneStream.open], and ends the reading of an earlier session's. It returns the
// channel for the wait.
func (s *standaloneStream) begin(newSession bool) (ready chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted && !newSession {
		return s.ready
	}
	if s.stop != nil {
		s.stop()
	}
	reading, end := context.WithCancel(s.life.Context())
	ready = make(chan struct{})
	onReady := sync.OnceFunc(func() { close(ready) })
	s.wanted, s.stop, s.ready = true, end, ready
	l := s.peer.link.Load()
	if l.exchange == nil || !s.life.Start(func() {
		defer end()
		grace := time.AfterFunc(s.grace(), onReady)
		defer grace.Stop()
		s.listen(reading, l, func() (inTime bool) { inTime = grace.Stop(); onReady(); return inTime })
	}) {
		end()
		onReady()
	}
	return ready
}

// grace returns how long to wait for the stream.
func (s *standaloneStream) grace() time.Duration {
	return min(max(minStreamGrace, 4*time.Duration(s.handshakeTime.Load())), maxStreamGrace)
}

// listen reads the stream until it has ended for good. It calls onReady when the stream is open, or has
// ended; the result is false if the wait was over before.
func (s *standaloneStream) listen(ctx context.Context, l *link, onReady func() bool) {
	wasOpen := false
	onOpen := func(resumed bool) {
		if inTime := onReady(); !inTime && !resumed {
			s.stale()
		}
		wasOpen = true
	}
	m := &wire.Message{Header: s.peer.current().header(nil)}
	err := l.exchange.Listen(ctx, m, onOpen, func(data []byte) { l.receive(data, source{session: m.Session()}) })
	onReady()
	l.logPanic(err)
	if wasOpen && ctx.Err() == nil {
		s.stale()
	}
	if err != nil && ctx.Err() == nil {
		s.onEnd(ctx, err, wasOpen)
	}
}

// onEnd is called when the standalone stream has ended for good. The server may have forgotten
// the session while there were no calls. If the stream was never open, the server may have none: then a ping decides.
func (s *standaloneStream) onEnd(ctx context.Context, err error, wasOpen bool) {
	if _, lost := lostSessionID(err); lost && !wasOpen {
		ping, cancel := context.WithTimeout(backoff.Unattended(ctx), renewTimeout)
		defer cancel()
		err = s.ping(ping)
		if _, lost := lostSessionID(err); !lost {
			return
		}
	}
	recent := s.sessions.renewals.Pause(renewPause) > 0
	if !s.sessions.renewIfLost(err) || recent {
		s.log.Warn("the server's standalone stream ended", "error", err)
	}
}
