package streamable

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// session is a session of the server. A request belongs to the session in which it was sent,
// and so does everything that follows from it: the rest of its response, the server's requests
// in it, and their answers.
type session struct {
	id      string // empty until the server has named it
	users   group  // current requests
	ended   atomic.Bool
	token   atomic.Pointer[transport.Token] // the token that was sent last; nil without a source
	version atomic.Pointer[[]string]        // the revision in headers, or nil
}

// ID implements [wire.Session].
func (s *session) ID() string { return s.id }

// Ended implements [wire.Session].
func (s *session) Ended() bool { return s.ended.Load() }

// SetEnded implements [wire.Session].
func (s *session) SetEnded(ended bool) { s.ended.Store(ended) }

// join adds a message to the session, unless that has ended.
func (s *session) join() bool {
	s.users.add()
	if s.ended.Load() {
		s.users.done()
		return false
	}
	return true
}

// joinOwn adds a bound message to its session, until [message.leave]. It returns false if the
// session has ended.
func (m *message) joinOwn() bool { return !m.bound || m.session.join() }

// isModern reports whether a message with this header belongs to the era without sessions, whose
// streams cannot be resumed either.
func isModern(header http.Header) bool {
	version := header[versionHeader]
	return len(version) == 1 && version[0] >= mcp.Revision20260728
}

// join adds m to the current session, until [message.leave].
func (c *conn) join(m *message) {
	for {
		s := c.session.Load()
		if isModern(m.header) {
			s = nil
		}
		m.setSession(s)
		if s == nil {
			return
		}
		s.users.add()
		if c.session.Load() == s { // whoever replaces it from now on waits
			return
		}
		s.users.done()
	}
}

// assignSession adds m to the session to which it belongs, until [message.leave].
func (c *conn) assignSession(m *message) {
	switch {
	case m.bound: // it was added before
	case m.sent.Opens:
		s := new(session)
		s.users.add()
		m.setSession(s)
	default:
		c.join(m)
	}
	if s := m.session; s != nil {
		if version := m.header[versionHeader]; version != nil && s.version.Load() == nil {
			s.version.Store(&version)
		}
	}
}

func (m *message) leave() {
	if m.session != nil {
		m.session.users.done()
	}
}

// maxSessionID bounds the id of a session in bytes, because every request has it.
const maxSessionID = 8 << 10

// startSession starts the session that a response names, "" for none, for the request m. The
// previous session ends, unless the server has forgotten it.
func (c *conn) startSession(m *message, id string) error {
	if len(id) > maxSessionID {
		return fmt.Errorf("%w: the session id has %d bytes, more than %d", mcp.ErrInvalidResult, len(id), maxSessionID)
	}
	s := m.session
	if id == "" {
		s = nil
		m.setSession(s)
	} else {
		s.id = id
	}
	old := c.session.Swap(s)
	if old == nil {
		return nil
	}
	c.secrets.Add(old.id) // its calls may continue
	if !old.ended.Load() {
		c.retiring.start(func(ctx context.Context) { c.retire(ctx, old) })
	}
	return nil
}

// Session implements [wire.Exchanger].
func (c *conn) Session() wire.Session {
	if s := c.session.Load(); s != nil {
		return s
	}
	return nil
}

// retiring has the goroutines that end replaced sessions.
type retiring struct {
	mu     sync.Mutex
	group  group
	ctx    context.Context // nil before the first session is replaced
	cancel context.CancelFunc
	closed bool
}

// start runs end on a goroutine, unless stop was called. Its context ends with stop.
func (r *retiring) start(end func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.ctx == nil {
		r.ctx, r.cancel = context.WithCancel(context.Background())
	}
	r.group.Go(func() { end(r.ctx) })
}

func (r *retiring) stop(d time.Duration) {
	r.mu.Lock()
	r.closed = true
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	r.group.wait(d)
}

const deleteTimeout = 5 * time.Second

// retire ends a session that was replaced, when nothing belongs to it any more.
func (c *conn) retire(ctx context.Context, s *session) {
	for range 2 { // also wait for messages that joined it in between
		select {
		case <-s.users.whenIdle():
		case <-ctx.Done():
			return
		}
		s.ended.Store(true)
	}
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	c.deleteSession(ctx, s)
}

// EndCalls implements [wire.Exchanger].
func (c *conn) EndCalls() { c.exchanges.endCalls() }

// HasSessions implements [wire.Exchanger].
func (c *conn) HasSessions() bool { return c.liveSession() != nil || c.retiring.group.count() > 0 }

func (c *conn) liveSession() *session {
	if s := c.session.Load(); s != nil && !s.ended.Load() {
		return s
	}
	return nil
}

// EndSessions implements [wire.Exchanger].
func (c *conn) EndSessions(ctx context.Context) {
	c.exchanges.close()
	if s := c.liveSession(); s != nil {
		c.deleteSession(ctx, s)
	}
	select {
	case <-c.retiring.group.whenIdle():
	case <-ctx.Done():
	}
}

func (c *conn) deleteSession(ctx context.Context, s *session) {
	sent := &wire.Message{In: s}
	if version := s.version.Load(); version != nil {
		sent.Header = http.Header{versionHeader: *version}
	}
	m := newMessage(sent)
	if resp, err := c.do(ctx, http.MethodDelete, m); err == nil {
		_ = resp.Body.Close()
	}
}
