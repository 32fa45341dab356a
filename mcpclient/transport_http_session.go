package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

// httpSession is a session of the server. A request belongs to the one that it was
// sent in, and so does all that follows from it: the rest of its response, what the
// server asks in that, and the answers.
type httpSession struct {
	id    []string // the value of its header; nil before the server has named it
	users crew     // requests under way
	over  atomic.Bool

	// credentials are the value of Authorization that it goes on with, empty for
	// none: the one that it began with, unless that is refused.
	credentials atomic.Pointer[[]string]
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
		s.credentials.Store(c.authorization())
		s.users.began()
		m.session.Store(s)
	default:
		c.join(m)
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
// has entered.
func (c *httpConn) begin(m *outgoing, id string) error {
	if len(id) > maxSessionID {
		return fmt.Errorf("%w: the session id has %d bytes, more than %d", ErrInvalidResult, len(id), maxSessionID)
	}
	s := m.session.Load()
	if id == "" {
		s = nil
		m.session.Store(s)
	} else {
		s.id = []string{id}
	}
	c.session.Store(s)
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

// retire ends a session in whose place there is another, once nothing belongs to it
// any more.
func (c *httpConn) retire(ctx context.Context, s *httpSession, header fields) {
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
	c.forget(ctx, s, header)
}

// inSession implements [exchanger].
func (c *httpConn) inSession() bool { return c.session.Load() != nil || c.retiring.made.Load() != nil }

// endCalls implements [exchanger].
func (c *httpConn) endCalls() { c.exchanges.endAsking() }

// endSession implements [exchanger].
func (c *httpConn) endSession(ctx context.Context, header fields) {
	c.exchanges.close()
	if s := c.session.Load(); s != nil {
		c.forget(ctx, s, header)
	}
	if retiring := c.retiring.made.Load(); retiring != nil {
		select {
		case <-retiring.whenIdle():
		case <-ctx.Done():
		}
	}
}

// forget tells the server that a session has ended. Whether it listens is its
// own affair.
func (c *httpConn) forget(ctx context.Context, s *httpSession, header fields) {
	m := &outgoing{header: header, bound: true}
	m.session.Store(s)
	if resp, err := c.do(ctx, http.MethodDelete, m); err == nil {
		_ = resp.Body.Close()
	}
}

// useToken has the session of m go on with the token of the connection: its own was
// refused, and the hook that is asked then says to try again. A message that is not
// bound goes to the next session where the hook has begun one.
func (c *httpConn) useToken(m *outgoing) {
	if s := m.session.Load(); s != nil && (m.bound || s == c.session.Load()) {
		s.credentials.Store(c.authorization())
	}
}
