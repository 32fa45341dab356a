package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// lender lends the connections to servers to calls. A connection that was replaced ends when its last call is over, and one
// that could be opened again ends when no call has used it for a while.
type lender struct {
	opts   *Options
	roster *roster
	pools  map[*policy]*pool // of the servers with [Server.PerUser]; the lock of the roster guards it

	reachable func(*Tool) (*Tool, error) // see calls
	userOf    func(context.Context) (user string, known bool)

	// What the connector does.
	newServer func(*Server, *policy) *server
	awake     func(context.Context, *Tool) (*Tool, error)
	doze      func(*server) // with the lock held
}

// hold returns a tool as it is at present, with the connection for a call of it. The caller releases the connection.
func (l *lender) hold(ctx context.Context, tool *Tool) (*Tool, lease, error) {
	now, err := l.reachable(tool)
	if err != nil {
		return nil, nil, err
	}
	if now.local != nil {
		return now, noLease{}, nil
	}
	if now.policy.perUser > 0 {
		return l.holdFor(ctx, now)
	}
	if now.client == nil {
		if now, err = l.awake(ctx, now); err != nil {
			return nil, nil, err
		}
	}
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	if now, err = l.reachable(now); err != nil { // with the connection that the server has now
		return nil, nil, err
	}
	if now.client == nil { // it rests again
		return nil, nil, &unsentError{fmt.Errorf("server %q: %w", now.policy.label, errResting)}
	}
	s := l.roster.ofLocked(now.policy)
	s.use(callerOf(ctx))
	return now, s, nil
}

// holdFor is hold for a server with a connection for each user.
func (l *lender) holdFor(ctx context.Context, tool *Tool) (*Tool, lease, error) {
	s, err := l.userConn(ctx, tool.policy)
	if err != nil {
		return nil, nil, err
	}
	own, err := l.toolOf(s, tool)
	if err != nil {
		s.release(callerOf(ctx))
		if tool.client == nil { // the list that was kept is an old one
			_, _ = l.awake(ctx, tool) // the next catalog has what there is now
		}
		return nil, nil, err
	}
	return own, s, nil
}

// errResting is for a call that met the end of an idle connection.
var errResting = errors.New("the connection has ended because nothing used it; try again")

// toolOf is a tool on the connection of a user, where it must be what it is on that of all.
func (l *lender) toolOf(s *server, tool *Tool) (*Tool, error) {
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	i := slices.IndexFunc(s.tools, func(own *Tool) bool { return own.def.Name == tool.def.Name })
	switch {
	case i < 0:
		return nil, &staleToolError{tool: tool.name, server: s.label, reason: toolGone}
	case s.tools[i].fingerprint != tool.fingerprint:
		return nil, &staleToolError{tool: tool.name, server: s.label, reason: toolChanged}
	}
	return s.tools[i].named(tool.name), nil
}

// use counts a call of a caller. The lock of the roster is held.
func (s *server) use(by *Caller) {
	s.uses++
	s.by = by
	if s.callers == nil {
		s.callers = map[*Caller]int{}
	}
	s.callers[by]++
}

// release ends what hold began.
func (s *server) release(by *Caller) {
	if s != nil {
		s.released(s, by)
	}
}

// released counts a call that is over, and closes a connection that only waited for that.
func (l *lender) released(s *server, by *Caller) {
	r := l.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s.uses--
	if s.callers[by]--; s.callers[by] == 0 {
		delete(s.callers, by)
	}
	switch {
	case s.uses > 0:
	case s.retired:
		r.retired = slices.DeleteFunc(r.retired, func(other *server) bool { return other == s })
		r.startLocked(func() { _ = s.close() })
	case s.ready != nil:
		l.restLocked(s)
	case s.lazy():
		l.doze(s)
	}
	l.pools[s.policy].wakeLocked()
}

// retire closes a connection that was replaced, once its calls are over.
func (l *lender) retire(s *server) {
	s.end()
	r := l.roster
	r.mu.Lock()
	s.retired = true
	busy := s.uses > 0 && s.client.Err() == nil && !r.closed
	if busy {
		r.retired = append(r.retired, s)
	}
	r.mu.Unlock()
	if !busy {
		_ = s.close()
	}
}
