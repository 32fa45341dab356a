package oauth

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// session is a token in use. It never changes.
type session struct {
	site     *site
	token    *token
	acquired bool   // acquired because the server demanded it: not stored, refreshed or renewed early
	unsaved  bool   // the store could not keep the token
	replaces string // the access token that the store has instead, if unsaved is set
}

// linger is how long an attempt to get a token continues without a waiting caller, so that a
// cancelled call can be repeated without asking the person again.
const linger = 30 * time.Second

// flight is an attempt to get a token, which all callers without one share.
type flight struct {
	key    string // the key of its renewal: only renewals with the same key share its failure
	cancel context.CancelFunc
	done   chan struct{} // closed at the end; then the result may be read

	result *session
	err    error

	// The mu of sessions guards the fields below.
	waiters   int
	idleTimer *time.Timer // ends a flight without waiters
	signedOut bool        // a SignOut ends it
}

// sessions holds the current session of a transport, and the flight that gets the next one.
type sessions struct {
	server  string
	running sync.WaitGroup // counts flights; none starts once closed is set

	mu        sync.Mutex
	closed    bool
	loaded    bool      // the store was read
	current   *session  // nil without a token
	notBefore time.Time // the earliest time of its next early renewal
	flight    *flight   // nil without an attempt
}

// get returns the current session, nil without a token.
func (s *sessions) get() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// join returns either a session that serves the renewal, or a flight to wait for. It calls start if there is no flight.
func (s *sessions) join(r *renewal, start func() *flight) (*flight, *session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isNew := s.current != nil && isOther(s.current, r.previous)
	switch {
	case s.closed:
		return nil, nil, errClosed
	case isNew && (!r.stepUp || covers(s.current.token.Granted, r.demand.scopes)):
		return nil, s.current, nil
	}
	if s.flight == nil {
		s.flight = start()
	}
	f := s.flight
	f.waiters++
	if f.idleTimer != nil {
		f.idleTimer.Stop()
		f.idleTimer = nil
	}
	return f, nil, nil
}

// isOther reports whether a session has another token than the used one.
func isOther(s, used *session) bool {
	return used == nil || s != used && s.token.Access != used.token.Access
}

// leave subtracts a caller. A flight without callers is cancelled after linger.
func (s *sessions) leave(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.waiters--; f.waiters == 0 && s.flight == f {
		f.idleTimer = time.AfterFunc(linger, f.cancel)
	}
}

// finish ends a flight with its result: next becomes the current session, unless there is an error.
func (s *sessions) finish(f *flight, next *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.idleTimer != nil {
		f.idleTimer.Stop()
	}
	switch {
	case err == nil:
		s.current, s.notBefore = next, time.Time{}
	case f.signedOut:
		err = fmt.Errorf("signed out of %s: %w", s.server, err)
	}
	f.result, f.err = next, err
	s.flight = nil
	close(f.done)
}

// clear cancels the running flight, waits for its end and forgets the session. Until release no
// flight starts: callers that want a token wait, and then start one of their own.
func (s *sessions) clear(ctx context.Context) (release func(), err error) {
	for {
		s.mu.Lock()
		running := s.flight
		if running == nil {
			f := &flight{key: "sign-out", cancel: func() {}, done: make(chan struct{})}
			s.flight = f
			s.current = nil
			s.loaded = true
			s.mu.Unlock()
			return func() { s.finish(f, nil, errSignedOut) }, nil
		}
		running.signedOut = true
		s.mu.Unlock()
		running.cancel()
		select {
		case <-running.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("sign out of %s: %w", s.server, ctx.Err())
		}
	}
}

// renewInBackground starts an early renewal, unless one runs or the last one was less than
// renewalPause ago. If it fails, the token stays in use.
func (s *sessions) renewInBackground(r *renewal, start func() *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.closed || s.flight != nil || s.current != r.previous || now.Before(s.notBefore) {
		return
	}
	s.notBefore = now.Add(renewalPause)
	r.unattended = true
	s.flight = start()
}

func (s *sessions) isLoaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// load sets the session that was read from the store, nil for none, unless there is one already or
// clear has forgotten it meanwhile.
func (s *sessions) load(stored *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded && s.current == nil {
		s.current = stored
	}
	s.loaded = true
}

// close prevents later flights.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
