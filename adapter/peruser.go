package adapter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// pool holds the connections of a server with one for each user ([Server.PerUser]). Toolset.mu guards it.
type pool struct {
	max     int
	conns   []*server     // the least recently used first
	changed chan struct{} // closed when a connection may have become free
}

func newPool(s *Server) *pool {
	if s.PerUser <= 0 {
		return nil
	}
	return &pool{max: s.PerUser, changed: make(chan struct{})}
}

// wakeLocked wakes all who wait for a connection, so that they look again.
func (p *pool) wakeLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// takes reports whether a caller's call may use the connection now. A connection that does not tell which call a question
// of the server belongs to takes the calls of one caller at a time, because other callers are other conversations.
func (s *server) takes(by *Caller) bool {
	return s.uses == 0 || s.by == by || s.opened() && s.client.SeparatesCalls()
}

// opened reports whether the connection of a user has been opened, or could not be.
func (s *server) opened() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

const (
	// idleStop is how long a connection stays open without calls, if the next call can open another.
	idleStop = 10 * time.Minute

	// longestWait bounds the wait for a connection if Policy.CallTimeout does not.
	longestWait = 24 * time.Hour

	// Reasons to wait.
	waitsForCall = "waits for a call of another conversation at the server %q"
	waitsForRoom = "waits for a connection to the server %q: all %d are in use"
)

// userConn returns the connection of the context's user for a call, and waits until it is free. It tells the context's
// caller why it waits. The connection has to be released.
func (t *Toolset) userConn(ctx context.Context, p *policy) (*server, error) {
	user, known := t.approvals.userOf(ctx)
	if !known {
		return nil, &unsentError{fmt.Errorf("server %q has a connection for each user, and Options.User does not name the user of the call", p.label)}
	}
	by := callerOf(ctx)
	limit := p.CallTimeout
	if limit <= 0 {
		limit = longestWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection was free within %v (Policy.CallTimeout)", limit))
	defer cancel()
	told := ""
	for {
		t.mu.Lock()
		s, begun, why := t.chooseLocked(p, user, by)
		changed := p.users.changed
		t.mu.Unlock()
		switch {
		case begun:
			t.openFor(ctx, s)
			fallthrough
		case s != nil:
			err := s.wait(ctx)
			if err == nil {
				return s, nil
			}
			t.released(s, by)
			return nil, &unsentError{err}
		case why != told:
			told = why
			callerFrom(ctx).waiting(ctx, why)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &unsentError{fmt.Errorf("server %q: %w", p.label, context.Cause(ctx))}
		}
	}
}

// wait waits until the connection is open.
func (s *server) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chooseLocked takes a connection for a call. It is begun if it still has to be opened, and nil if the call has to wait:
// then why is the reason.
func (t *Toolset) chooseLocked(p *policy, user string, by *Caller) (s *server, begun bool, why string) {
	u := p.users
	for _, s := range u.conns {
		switch {
		case s.user != user || s.retired || s.opened() && (s.err != nil || s.client.Err() != nil):
		case s.takes(by):
			u.useLocked(s, by)
			return s, false, ""
		case s.asking == 0:
			why = fmt.Sprintf(waitsForCall, p.label)
		}
	}
	if why != "" {
		return nil, false, why
	}
	var instead *server
	if len(u.conns) >= u.max {
		i := slices.IndexFunc(u.conns, func(s *server) bool { return s.uses == 0 })
		if i < 0 {
			return nil, false, fmt.Sprintf(waitsForRoom, p.label, u.max)
		}
		instead = u.conns[i]
		u.removeLocked(instead)
		instead.retired = true
	}
	base := t.serverOfLocked(p)
	if base == nil || t.closed {
		return nil, false, "the server is gone"
	}
	s = t.newServer(base.recipe, p)
	s.user, s.ready, s.pins, s.instead = user, make(chan struct{}), base.pins, instead
	u.conns = append(u.conns, s)
	u.useLocked(s, by)
	return s, true, ""
}

// useLocked counts a call on a connection and makes it the most recently used.
func (u *pool) useLocked(s *server, by *Caller) {
	s.use(by)
	if i := slices.Index(u.conns, s); i >= 0 {
		u.conns = append(slices.Delete(u.conns, i, i+1), s)
	}
}

// openFor opens the connection of a user.
func (t *Toolset) openFor(ctx context.Context, s *server) {
	if s.instead != nil { // it ends first: the bound is for processes, too
		_ = s.instead.close()
		s.instead = nil
	}
	err := s.enter(ctx)
	t.mu.Lock()
	s.err = err
	if err != nil {
		s.policy.users.removeLocked(s)
	}
	close(s.ready)
	s.policy.users.wakeLocked()
	t.mu.Unlock()
	if err != nil {
		return
	}
	close(s.watch.offered)
	s.client.AfterEnd(func(err error) {
		t.mu.Lock()
		asked := s.retired || t.closed
		s.policy.users.removeLocked(s)
		s.policy.users.wakeLocked()
		t.mu.Unlock()
		if !asked {
			t.opts.Logger.Warn("the connection of a user to a server ended; the next call makes another", "server", s.label, "error", err)
		}
	})
}

func (u *pool) removeLocked(s *server) {
	u.conns = slices.DeleteFunc(u.conns, func(c *server) bool { return c == s })
}

// stopLocked closes the connection of a user as soon as no call uses it.
func (t *Toolset) stopLocked(s *server) {
	s.policy.users.removeLocked(s)
	s.retired = true
	if s.uses > 0 {
		t.retired = append(t.retired, s)
		return
	}
	s.policy.users.wakeLocked()
	if !t.closed {
		t.background.Go(func() { _ = s.close() })
	}
}

// stopUsers closes the connections of all users of a server.
func (t *Toolset) stopUsers(p *policy) {
	if p.users == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range slices.Clone(p.users.conns) {
		t.stopLocked(s)
	}
}

// restLocked closes the connection of a user after idleStop without calls.
func (t *Toolset) restLocked(s *server) {
	s.rested++
	n := s.rested
	time.AfterFunc(idleStop, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if s.uses == 0 && s.rested == n && !s.retired {
			t.stopLocked(s)
		}
	})
}

// question counts a question of the server while it is answered. Meanwhile other conversations get connections of their
// own: they must not wait as long as a person needs. If a question is refused because it may belong to several
// conversations, each of them is told.
func (t *Toolset) question(ctx context.Context, s *server) (answered func(error)) {
	known := ctx.Value(callerKey{}) != nil
	t.countQuestion(s, 1)
	return func(err error) {
		var callers []*Caller
		if err != nil && !known {
			t.mu.Lock()
			callers = slices.Collect(maps.Keys(s.callers))
			t.mu.Unlock()
		}
		t.countQuestion(s, -1)
		for _, c := range callers {
			if c != nil && c.Unanswered != nil {
				c.Unanswered(s.label, err)
			}
		}
	}
}

func (t *Toolset) countQuestion(s *server, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.asking += n
	if s.policy.users != nil {
		s.policy.users.wakeLocked()
	}
}
