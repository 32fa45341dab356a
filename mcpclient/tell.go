package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const (
	tellTimeout = 5 * time.Second // bounds the sending of one message
	maxTellers  = 16              // messages that are being sent at the same time
	maxTold     = 1024            // messages that wait to be sent

	// unreadTime is how long Close waits for a server to read from a pipe, which
	// takes a message at once unless the server has stopped to read.
	unreadTime = 500 * time.Millisecond
)

// teller sends messages whose answers nobody waits for: notices of cancellation,
// answers to pings, refusals. It has goroutines only while there is something to send.
type teller struct {
	mu      sync.Mutex
	queue   []told
	workers int
	dropped dropped
	last    chan struct{} // closed when all that was told is out; nil before nothing more is taken
}

type told struct {
	link    *link
	session transport.Session // that the message belongs to; nil where there is none
	what    string            // for the log
	body    []byte
	header  fields          // over HTTP; nil for that of an answer
	caller  context.Context // whose values go with it; nil for Connect's
}

// tell queues a message; beyond the bound it is dropped.
func (c *Client) tell(m told) {
	t := &c.unasked.get().teller
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil {
		return
	}
	if len(t.queue) >= maxTold {
		t.dropped.count++
		return
	}
	t.queue = append(t.queue, m)
	if t.workers < maxTellers && c.life.start(c.sendTold) {
		t.workers++
	}
}

// sendTold sends what is queued until nothing is.
func (c *Client) sendTold() {
	for {
		m, dropped, ok := c.unasked.get().teller.next(c)
		if dropped > 0 {
			c.log.Warn("dropped messages to the server: too many were waiting to be sent", "count", dropped)
		}
		if !ok {
			return
		}
		err := c.sendOne(&m)
		switch {
		case err == nil || errors.Is(err, ErrClosed):
		case errors.Is(err, transport.ErrSessionOver):
			c.log.Debug("message to the server dropped", "message", m.what, "because", err)
		default:
			m.link.failed(c.life.ctx, c, "message to the server lost", "message", m.what, "error", err)
		}
	}
}

// sendOne sends a message within its time, unless the client ends before that.
func (c *Client) sendOne(m *told) error {
	life := c.life.ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmp.Or(m.caller, life)), tellTimeout)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	header := m.header
	if header == nil {
		header = c.current().header(nil, nil)
	}
	return m.link.post(ctx, c, m.body, header, m.session)
}

// next takes the oldest message; ok is false when the goroutine is to end.
func (t *teller) next(c *Client) (m told, dropped int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := len(t.queue) == 0 || c.life.isClosed()
	dropped = t.dropped.take(idle)
	if idle {
		t.workers--
		t.queue = nil
		t.outLocked()
		return told{}, dropped, false
	}
	m, t.queue[0] = t.queue[0], told{}
	t.queue = t.queue[1:]
	return m, dropped, true
}

// finishTelling has what was told go out, which takes no longer than d, and nothing
// more be told.
func (c *Client) finishTelling(d time.Duration) {
	u := c.unasked.made.Load()
	if u == nil {
		return
	}
	if conn, ok := transport.As[transport.Acknowledger](c.link.Load().conn); ok && !conn.Acknowledged() {
		d = min(d, unreadTime)
	}
	waitFor(u.teller.finish(), d)
}

func (t *teller) finish() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = make(chan struct{})
	t.outLocked()
	return t.last
}

// outLocked says that all is out, if it is and somebody wants to know.
func (t *teller) outLocked() {
	if t.workers == 0 && t.last != nil {
		close(t.last)
	}
}
