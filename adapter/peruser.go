package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// pool holds the connections of a server with one per user ([Server.PerUser]). It is guarded by the lock of the roster.
type pool struct {
	conns   []*server     // least recently used first
	changed chan struct{} // closed when a connection may have become free
}

// wakeLocked wakes everyone who waits for a connection. p may be nil.
func (p *pool) wakeLocked() {
	if p != nil {
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// canServeLocked reports whether a call of this caller may use the connection now. If the connection cannot tell which call
// a server's question belongs to, it serves one caller at a time, because other callers are other conversations.
func (s *server) canServeLocked(caller *Caller) bool {
	return s.uses == 0 || s.lastCaller == caller || s.isOpened() && s.client.SeparatesCalls()
}

// isOpened reports whether the attempt to open a user's connection is over. It is over for other connections.
func (s *server) isOpened() bool {
	if s.ready == nil {
		return true
	}
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

const (
	// longestWait bounds the wait for a connection without a Policy.CallTimeout.
	longestWait = 24 * time.Hour

	// Reasons to wait.
	waitsForCall = "waits for a call of another conversation at the server %q"
	waitsForRoom = "waits for a connection to the server %q: all %d are in use"
)

// userConn returns the connection of the context's user for a call, and waits until it is free, for Policy.CallTimeout or
// else for longestWait. It reports to the context's caller why it waits. After an error nothing was sent.
func (l *lender) userConn(ctx context.Context, state *serverState) (_ *server, release func(), err error) {
	user, known := l.callUser(ctx)
	if !known {
		err := fmt.Errorf("server %q has a connection for each user: Options.User names none for the call", state.label)
		return nil, nil, &unsentError{err}
	}
	caller := callerOrNil(ctx)
	limit := state.policy.CallTimeout
	if limit <= 0 {
		limit = longestWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection was free within %v (Policy.CallTimeout)", limit))
	defer cancel()
	reported := ""
	for {
		l.roster.mu.Lock()
		lent, err := l.chooseLocked(state, user, caller)
		l.roster.mu.Unlock()
		switch {
		case err != nil:
			return nil, nil, &unsentError{err}
		case lent.conn != nil:
			if lent.unopened {
				l.openFor(ctx, lent.conn)
			}
			err := lent.conn.wait(ctx)
			if err == nil {
				return lent.conn, func() { l.release(lent.conn, caller) }, nil
			}
			l.release(lent.conn, caller)
			if _, abandoned := errors.AsType[*abandonedError](err); abandoned && ctx.Err() == nil {
				continue
			}
			return nil, nil, &unsentError{err}
		case lent.reason != reported:
			reported = lent.reason
			callerFrom(ctx).reportWaiting(ctx, l.opts.Logger, reported)
		}
		select {
		case <-lent.changed:
		case <-ctx.Done():
			return nil, nil, &unsentError{fmt.Errorf("server %q: %w", state.label, context.Cause(ctx))}
		}
	}
}

// loan is a connection for a call, or the reason why the call has to wait, and until when.
type loan struct {
	conn     *server // nil if the call has to wait
	unopened bool    // the call opens it by openFor

	reason  string
	changed <-chan struct{}
}

// wait waits until the connection is open, and returns the error of opening it.
func (s *server) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chooseLocked chooses a connection for a call, and counts the call on it.
func (l *lender) chooseLocked(state *serverState, user string, caller *Caller) (loan, error) {
	base := l.roster.findLocked(state)
	switch {
	case l.roster.closed:
		return loan{}, errToolsetClosed
	case base == nil:
		return loan{}, fmt.Errorf("server %q was removed", state.label)
	}
	p := l.pools[state]
	if p == nil {
		p = &pool{changed: make(chan struct{})}
		l.pools[state] = p
	}
	s, busy := p.findLocked(user, caller)
	switch {
	case s != nil:
		p.countCallLocked(s, caller)
		return loan{conn: s}, nil
	case busy:
		return loan{reason: fmt.Sprintf(waitsForCall, state.label), changed: p.changed}, nil
	}
	var replaced *server
	if len(p.conns) >= state.maxUsers {
		i := slices.IndexFunc(p.conns, func(s *server) bool { return s.uses == 0 })
		if i < 0 {
			return loan{reason: fmt.Sprintf(waitsForRoom, state.label, state.maxUsers), changed: p.changed}, nil
		}
		replaced = p.conns[i]
		p.removeLocked(replaced)
		replaced.retired = true
	}
	s = l.newServer(base.recipe, state)
	s.user, s.ready, s.pins, s.replaces = user, make(chan struct{}), base.pins, replaced
	p.conns = append(p.conns, s)
	p.countCallLocked(s, caller)
	l.roster.background.Add(1) // until the end of openFor
	return loan{conn: s, unopened: true}, nil
}

// findLocked returns a connection of the user that takes a call now. Without one, busy reports
// whether the call has to wait for one: other calls use it, and wait for no answer of a person.
func (p *pool) findLocked(user string, caller *Caller) (conn *server, busy bool) {
	for _, s := range p.conns {
		switch {
		case s.user != user || s.retired || s.isOpened() && (s.err != nil || s.client.Err() != nil):
		case s.canServeLocked(caller):
			return s, false
		case s.openQuestions == 0:
			busy = true
		}
	}
	return nil, busy
}

// countCallLocked counts a call on a connection, and makes it the most recently used.
func (p *pool) countCallLocked(s *server, caller *Caller) {
	s.countCallLocked(caller)
	if i := slices.Index(p.conns, s); i >= 0 {
		p.conns = append(slices.Delete(p.conns, i, i+1), s)
	}
}

// abandonedError is the error of a connection whose call ended while it opened it. Other calls that
// wait for the connection open another.
type abandonedError struct{ error }

func (e *abandonedError) Unwrap() error { return e.error }

// openFor opens the connection of a user for all calls that wait for it. When the connection ends, it leaves the pool,
// and the next call opens another. If the toolset is closed meanwhile, openFor closes the connection.
func (l *lender) openFor(ctx context.Context, s *server) {
	defer l.roster.background.Done()
	if s.replaces != nil { // closed first, because the bound counts processes
		_ = s.replaces.close()
		s.replaces = nil
	}
	r := l.roster
	opening, cancel := r.withLife(ctx)
	defer cancel()
	err := l.open(opening, s)
	if err != nil && ctx.Err() != nil {
		err = &abandonedError{err}
	}
	r.mu.Lock()
	late := err == nil && r.closed
	if r.closed {
		err = errToolsetClosed
	}
	s.err = err
	if err != nil {
		l.pools[s.state].removeLocked(s)
	}
	close(s.ready)
	l.pools[s.state].wakeLocked()
	r.mu.Unlock()
	if late {
		_ = s.close()
	}
	if err != nil {
		return
	}
	close(s.watch.joined)
	s.client.AfterEnd(func(err error) {
		r.mu.Lock()
		expected := s.retired || r.closed
		l.pools[s.state].removeLocked(s)
		l.pools[s.state].wakeLocked()
		r.mu.Unlock()
		if !expected {
			l.opts.Logger.Warn("the connection of a user to a server ended; the next call makes another", "server", s.label, "error", err)
		}
	})
}

// removeLocked removes a connection, if it is there. p may be nil.
func (p *pool) removeLocked(s *server) {
	if p != nil {
		p.conns = slices.DeleteFunc(p.conns, func(c *server) bool { return c == s })
	}
}

// connsLocked returns the connections of all users.
func (l *lender) connsLocked() (all []*server) {
	for _, p := range l.pools {
		all = append(all, p.conns...)
	}
	return all
}

// stopLocked closes the connection of a user when its last call has ended.
func (l *lender) stopLocked(s *server) {
	l.pools[s.state].removeLocked(s)
	s.retired = true
	if s.uses > 0 {
		l.roster.retired = append(l.roster.retired, s)
		return
	}
	l.pools[s.state].wakeLocked()
	l.roster.startLocked(func() { _ = s.close() })
}

// stopUsers closes the connections of all users of a server.
func (l *lender) stopUsers(state *serverState) {
	r := l.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	p := l.pools[state]
	if p == nil {
		return
	}
	for _, s := range slices.Clone(p.conns) {
		l.stopLocked(s)
	}
	p.wakeLocked()
	if r.findLocked(state) == nil {
		delete(l.pools, state)
	}
}

// question counts a question of the server while it is being answered. Meanwhile other
// conversations get connections of their own, so that they need not wait for a person. If the
// question is refused because it may belong to several conversations, Caller.Unanswered of each is called.
func (l *lender) question(ctx context.Context, s *server) (answered func(error)) {
	known := ctx.Value(callerKey{}) != nil
	l.countQuestion(s, 1)
	return func(err error) {
		var callers []*Caller
		if err != nil && !known {
			l.roster.mu.Lock()
			callers = slices.Collect(maps.Keys(s.callers))
			l.roster.mu.Unlock()
		}
		l.countQuestion(s, -1)
		for _, c := range callers {
			if c != nil && c.Unanswered != nil {
				_ = runGuarded(l.opts.Logger, "Caller.Unanswered", func() error { c.Unanswered(s.label, err); return nil })
			}
		}
	}
}

// countQuestion adds to the open questions of a connection, and wakes calls that may now have another.
func (l *lender) countQuestion(s *server, n int) {
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	s.openQuestions += n
	l.pools[s.state].wakeLocked()
}
