package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// renewTimeout bounds the beginning of a new session.
	renewTimeout = 30 * time.Second

	// renewPause is how long after a new session the end of the standalone
	// stream does not begin another one.
	renewPause = time.Minute
)

// session is what a legacy server over HTTP remembers of us, and forgets: "When
// a client receives HTTP 404 in response to a request containing an
// Mcp-Session-Id, it MUST start a new session" (2025-11-25 transports).
type session struct {
	mu      sync.Mutex
	renewal *renewal // under way, or nil
	begun   time.Time
	level   LogLevel           // that the server was told
	unheard context.CancelFunc // ends the reading of the standalone stream
}

// renewal is the beginning of a new session, which many calls may wait for.
type renewal struct {
	done chan struct{}
	err  error // once done is closed
}

// renewing marks the context of the calls that belong to a renewal.
type renewing struct{}

// settle waits while a new session begins.
func (s *session) settle(ctx context.Context) error {
	if ctx.Value(renewing{}) != nil {
		return nil
	}
	s.mu.Lock()
	r := s.renewal
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return nil // a call says itself what is wrong then
	case <-ctx.Done():
		return ended(ctx)
	}
}

// lostSession returns the session that the server no longer knows.
func lostSession(err error) (id string, ok bool) {
	status, ok := errors.AsType[*HTTPError](err)
	if !ok || status.session == "" {
		return "", false
	}
	return status.session, true
}

// renew begins a new session in the place of the one with this id, once for all
// who ask.
func (c *Client) renew(ctx context.Context, id string) error {
	s := &c.session
	s.mu.Lock()
	r := s.renewal
	switch {
	case ctx.Value(renewing{}) != nil:
		s.mu.Unlock()
		return errors.New("the new session was lost too")
	case r != nil: // under way
	case c.link.Load().exchange.sessionID() != id: // done by another call
		s.mu.Unlock()
		return nil
	default:
		r = &renewal{done: make(chan struct{})}
		s.renewal = r
		if !c.start(&c.own, func() { c.renewal(r) }) {
			s.renewal = nil
			s.mu.Unlock()
			return ErrClosed
		}
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ended(ctx)
	}
}

// renewal begins the new session and restores what belonged to the old one.
func (c *Client) renewal(r *renewal) {
	ctx, cancel := context.WithTimeout(context.WithValue(c.ctx, renewing{}, true), renewTimeout)
	defer cancel()
	c.log.Debug("the server has forgotten the session: beginning a new one")
	r.err = c.beginAnew(ctx)
	s := &c.session
	s.mu.Lock()
	s.renewal, s.begun = nil, time.Now()
	s.mu.Unlock()
	close(r.done)
}

func (c *Client) beginAnew(ctx context.Context) error {
	c.link.Load().abandon()
	e := c.current()
	server, err := e.handshake(ctx, c)
	if err != nil {
		return err
	}
	c.server.Store(server)
	if err := c.current().started(ctx, c); err != nil {
		return err
	}
	c.cache.clear()
	return c.rewatch(ctx)
}

// abandon gives up what is being answered: nobody waits for it any more.
func (l *link) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.asking {
		a.silent = true
		a.cancel()
	}
	clear(l.asking) // a new session counts from the beginning
}

// anew is called for a request that failed with err. When the server had
// forgotten the session it begins a new one and reports whether to send the
// request again.
func (c *Client) anew(ctx context.Context, r *request, err error) (again bool, _ error) {
	id, lost := lostSession(err)
	if !lost {
		return false, err
	}
	if renewErr := c.renew(ctx, id); renewErr != nil {
		return false, fmt.Errorf("%w: %w; and a new session could not be begun: %w", ErrSessionLost, err, renewErr)
	}
	if !repeatable(r.method) || r.reborn {
		return false, fmt.Errorf("%w; a new one has begun, but the request was not sent again: %w", ErrSessionLost, err)
	}
	r.reborn = true
	return true, nil
}

// tell remembers the log level that the server was told.
func (s *session) tell(level LogLevel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

func (s *session) toldLevel() LogLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// hear returns a context for reading the standalone stream of the session, and
// ends the reading of an earlier one.
func (c *Client) hear() context.Context {
	ctx, cancel := context.WithCancel(c.ctx)
	s := &c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unheard != nil {
		s.unheard()
	}
	s.unheard = cancel
	return ctx
}

// streamEnded is called when the standalone stream ended for good: its server may
// have forgotten the session while nothing was called.
func (c *Client) streamEnded(err error) {
	id, lost := lostSession(err)
	s := &c.session
	s.mu.Lock()
	soon := time.Since(s.begun) < renewPause
	s.mu.Unlock()
	if !lost || soon {
		c.log.Warn("the server's standalone stream ended", "error", err)
		return
	}
	if err := c.renew(c.ctx, id); err != nil && c.ctx.Err() == nil {
		c.log.Warn("the server has forgotten the session, and a new one could not be begun", "error", err)
	}
}

// repeatable reports whether a request does the same when it is sent twice.
// What a tool does is not known, nor what a request does that we do not know.
func repeatable(method string) bool {
	switch method {
	case "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete",
		"logging/setLevel", "tasks/get", "tasks/list", "tasks/result":
		return true
	}
	return false
}
