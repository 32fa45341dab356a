package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const (
	// renewTimeout bounds the beginning of a new session.
	renewTimeout = 30 * time.Second

	// renewPause is how long after a new session the end of the standalone
	// stream does not begin another one.
	renewPause = time.Minute
)

// session is what the server remembers of us, and forgets: a legacy server over
// HTTP when it likes ("When a client receives HTTP 404 in response to a request
// containing an Mcp-Session-Id, it MUST start a new session", 2025-11-25
// transports), and any other one with its connection.
type session struct {
	renewal atomic.Pointer[renewal] // under way, or nil; changed with mu held

	mu    sync.Mutex
	begun time.Time
	level mcp.LogLevel // that the server was told
}

// renewal is the beginning of a new session or of a new connection, which many
// calls may wait for.
type renewal struct {
	done chan struct{}
	err  error           // once done is closed
	left <-chan struct{} // closed when the client is leaving, or has ended, which done may take longer for
}

// renewing marks the context of the calls that belong to a renewal, with that.
type renewing struct{ s *session }

// settle waits while a new session or connection begins.
func (s *session) settle(ctx context.Context) error {
	r := s.renewal.Load()
	if r == nil || ctx.Value(renewing{s}) != nil {
		return nil
	}
	select {
	case <-r.done:
		return nil // a call says itself what is wrong then
	case <-r.left:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// beginLocked has begin make a new session or connection, in the place of what
// there is, until it made one that lasts as long as that takes. It returns nil
// when the client is closed.
func (c *Client) beginLocked(begin func(context.Context) error) *renewal {
	r := &renewal{done: make(chan struct{}), left: c.life.closing}
	c.session.renewal.Store(r)
	started := c.life.start(func() {
		defer close(r.done)
		ctx := context.WithValue(c.life.ctx, renewing{&c.session}, r)
		for {
			r.err = begin(ctx)
			if c.begun(r) {
				return
			}
		}
	})
	if !started {
		c.session.renewal.Store(nil)
		return nil
	}
	return r
}

// begun ends a renewal, unless its connection has ended already.
func (c *Client) begun(r *renewal) bool {
	s := &c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.err == nil && c.link.Load().dead() != nil {
		return false
	}
	s.renewal.Store(nil)
	s.begun = time.Now()
	return true
}

// lostSession returns the session that the server no longer knows.
func lostSession(err error) (id string, ok bool) {
	lost, ok := errors.AsType[transport.LostSessionError](err)
	if !ok || lost.LostSession() == "" {
		return "", false
	}
	return lost.LostSession(), true
}

// renew has begin make a new session in the place of the one with this id, once
// for all who ask.
func (c *Client) renew(ctx context.Context, id string, begin func(context.Context) error) error {
	if ctx.Value(renewing{&c.session}) != nil {
		return errors.New("the new session was lost too")
	}
	s := &c.session
	s.mu.Lock()
	r := s.renewal.Load()
	switch {
	case r != nil: // under way
	case c.link.Load().sessionID() != id: // done by another call
		s.mu.Unlock()
		return nil
	default:
		r = c.beginLocked(begin)
	}
	s.mu.Unlock()
	if r == nil {
		return ErrClosed
	}
	select {
	case <-r.done:
		return r.err
	case <-r.left:
		return c.life.cause()
	case <-ctx.Done():
		return ended(ctx)
	}
}

// beginAnew begins a session in the place of one that the server has forgotten.
func (c *Client) beginAnew(ctx context.Context) error {
	c.log.Debug("the server has forgotten the session: beginning a new one")
	l := c.link.Load()
	lost := l.exchange.Session()
	if lost != nil {
		lost.SetOver(true)
	}
	l.abandon(lost)
	err := c.beginNext(ctx)
	if err != nil && lost != nil && l.exchange.Session() == lost {
		lost.SetOver(false) // it goes on, should the server know it after all
	}
	return err
}

// beginNext begins a session and restores what belonged to the one before.
func (c *Client) beginNext(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	server, err := c.negotiator.handshake(ctx)
	if err != nil {
		return err
	}
	c.server.Store(server)
	if err := c.begin(ctx); err != nil {
		return err
	}
	return c.restore(ctx)
}

// restore brings back what a server knew that has forgotten everything.
func (c *Client) restore(ctx context.Context) error {
	c.cache.clear()
	if c.current().has(listenStreams) {
		return nil // each subscription opens its stream again
	}
	return c.subscriptions.watchAgain(ctx)
}

// abandon gives up what is being answered in a session, nil for all: nobody waits
// for it any more.
func (l *link) abandon(s transport.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, a := range l.serving {
		if s == nil || id.session == s {
			a.silent = true
			a.cancel()
			delete(l.serving, id)
		}
	}
}

// settle waits while a new session or connection begins.
func (c *Client) settle(ctx context.Context) error { return c.session.settle(ctx) }

// resend is called for a request that failed with err. If the server had forgotten the
// session it begins a new one, if the connection was lost it waits for the next. It
// reports whether to send the request again, which happened so often before.
func (c *Client) resend(ctx context.Context, r *request, err error, resends int) (again bool, _ error) {
	if errors.Is(err, ErrConnectionLost) {
		return c.reconnected(ctx, r, err)
	}
	if _, other := errors.AsType[*transport.OwnerError](err); other {
		return c.otherOwner(ctx, err, resends)
	}
	id, lost := lostSession(err)
	if !lost {
		return false, err
	}
	if renewErr := c.renew(ctx, id, c.beginAnew); renewErr != nil {
		return false, fmt.Errorf("%w: %w; and a new session could not be begun: %w", ErrSessionLost, err, renewErr)
	}
	if !repeatable(r.method) || r.resent {
		return false, fmt.Errorf("%w; a new one has begun, but the request was not sent again: %w", ErrSessionLost, err)
	}
	r.resent = true
	return true, nil
}

// maxOwners bounds how often a request changes to a session of another user, before it
// is sent.
const maxOwners = 5

// otherOwner begins a session for the user of a message that failed with err, where it
// was not sent as the session is of another one, and reports whether to send it.
func (c *Client) otherOwner(ctx context.Context, err error, renewed int) (again bool, _ error) {
	other, ok := errors.AsType[*transport.OwnerError](err)
	if !ok || renewed >= maxOwners {
		return false, err
	}
	if err := c.renew(ctx, other.Session, c.beginForOwner); err != nil {
		return false, fmt.Errorf("%w: a new session could not be begun: %w", other, err)
	}
	return true, nil
}

// beginForOwner begins a session for the user whose token there is, also where that
// changes meanwhile. The session before goes on with its calls, and ends by itself.
func (c *Client) beginForOwner(ctx context.Context) (err error) {
	for range maxOwners {
		err = c.beginNext(ctx)
		if _, other := errors.AsType[*transport.OwnerError](err); !other {
			return err
		}
	}
	return err
}

// sessionRef is where a request goes: a connection, and over HTTP a session on that.
type sessionRef struct {
	link    *link
	session transport.Session // nil for none
}

// sessionID is that of the next request, "" for none.
func (l *link) sessionID() string {
	if s := l.nextSession().session; s != nil {
		return s.ID()
	}
	return ""
}

// nextSession is where the next request goes.
func (l *link) nextSession() sessionRef {
	if l.exchange == nil {
		return sessionRef{link: l}
	}
	return sessionRef{l, l.exchange.Session()}
}

// session is where the request went.
func (f *inFlight) session(l *link) sessionRef {
	if f.sent == nil {
		return sessionRef{link: l}
	}
	return sessionRef{l, f.sent.Session()}
}

// errLostCursor is the error of a request whose cursor its server has forgotten:
// "clients MUST NOT persist cursors across sessions". Where there are no sessions
// they outlive the connection.
var errLostCursor = fmt.Errorf("%w: its cursor is of the session before: list again from the first page", ErrSessionLost)

// tell remembers the log level that the server was told.
func (s *session) tell(level mcp.LogLevel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

func (s *session) toldLevel() mcp.LogLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}
