package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// httpSession is a session of the server. A request belongs to the one that it was
// sent in, and so does all that follows from it: the rest of its response, what the
// server asks in that, and the answers.
type httpSession struct {
	id      []string // the value of its header; nil before the server has named it
	users   group    // requests under way
	over    atomic.Bool
	token   atomic.Pointer[Token]    // that was sent last; nil without a source
	version atomic.Pointer[[]string] // the revision in headers; nil for none
}

// errSessionOver marks a message that belongs to a session which has ended.
var errSessionOver = errors.New("its session has ended")

func (s *httpSession) ended() bool { return s != nil && s.over.Load() }

// join makes a message one of the session, unless that has ended.
func (s *httpSession) join() bool {
	s.users.began()
	if s.over.Load() {
		s.users.ended()
		return false
	}
	return true
}

// join makes m a message of the session that there is, until [outgoing.leave].
func (c *httpConn) join(m *outgoing) {
	for {
		s := c.session.Load()
		m.session.Store(s)
		if s == nil {
			return
		}
		s.users.began()
		if c.session.Load() == s { // whoever replaces it from now on waits
			return
		}
		s.users.ended()
	}
}

// enter makes m a message of the session that it belongs to, until [outgoing.leave].
func (c *httpConn) enter(m *outgoing) {
	switch {
	case m.bound: // it is one already
	case m.opensSession:
		s := new(httpSession)
		s.users.began()
		m.session.Store(s)
	default:
		c.join(m)
	}
	if s := m.session.Load(); s != nil {
		if version := m.header.of(versionHeader); version != nil && s.version.Load() == nil {
			s.version.Store(&version)
		}
	}
}

func (m *outgoing) leave() {
	if s := m.session.Load(); s != nil {
		s.users.ended()
	}
}

// maxSessionID bounds the id of a session in bytes: it is in every request.
const maxSessionID = 8 << 10

// begin takes the session that a response names, "" for none, and that its request
// has entered. The session before it ends, unless the server has forgotten it.
func (c *httpConn) begin(m *outgoing, id string) error {
	if len(id) > maxSessionID {
		return fmt.Errorf("%w: the session id has %d bytes, more than %d", mcp.ErrInvalidResult, len(id), maxSessionID)
	}
	s := m.session.Load()
	if id == "" {
		s = nil
		m.session.Store(s)
	} else {
		s.id = []string{id}
	}
	if old := c.session.Swap(s); old != nil && !old.over.Load() {
		c.retiring.begin(func(ctx context.Context) { c.retire(ctx, old) })
	}
	return nil
}

func (c *httpConn) sessionID() string {
	if s := c.session.Load(); s != nil {
		return s.id[0]
	}
	return ""
}

// joined implements [exchanger].
func (c *httpConn) joined() *httpSession { return c.session.Load() }

// lose implements [exchanger].
func (c *httpConn) lose() *httpSession {
	s := c.session.Load()
	if s != nil {
		s.over.Store(true)
	}
	return s
}

// retiring ends sessions that another one has replaced, each on a goroutine.
type retiring struct {
	mu     sync.Mutex
	group  group
	ctx    context.Context // nil before the first
	cancel context.CancelFunc
	closed bool
}

func (r *retiring) begin(end func(context.Context)) {
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

// stop gives up what is under way, and waits for that at most d.
func (r *retiring) stop(d time.Duration) {
	r.mu.Lock()
	r.closed = true
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	r.group.wait(d)
}

// retire ends a session in whose place there is another, once nothing belongs to it
// any more.
func (c *httpConn) retire(ctx context.Context, s *httpSession) {
	for range 2 { // what joined it in between is waited for, too
		select {
		case <-s.users.whenIdle():
		case <-ctx.Done():
			return
		}
		s.over.Store(true)
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	c.forget(ctx, s)
}

// inSession implements [exchanger].
func (c *httpConn) inSession() bool { return c.session.Load() != nil || c.retiring.group.count() > 0 }

// endCalls implements [exchanger].
func (c *httpConn) endCalls() { c.exchanges.endCalls() }

// endSession implements [exchanger].
func (c *httpConn) endSession(ctx context.Context) {
	c.exchanges.close()
	if s := c.session.Load(); s != nil {
		c.forget(ctx, s)
	}
	select {
	case <-c.retiring.group.whenIdle():
	case <-ctx.Done():
	}
}

// forget tells the server that a session has ended. Whether it listens is its
// own affair.
func (c *httpConn) forget(ctx context.Context, s *httpSession) {
	m := &outgoing{bound: true}
	m.session.Store(s)
	if version := s.version.Load(); version != nil {
		m.header = fields{{versionHeader, *version}}
	}
	if resp, err := c.do(ctx, http.MethodDelete, m); err == nil {
		_ = resp.Body.Close()
	}
}
