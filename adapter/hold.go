package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// hold returns a tool as it is at present, with the connection for a call of it. The caller releases the connection.
func (t *Toolset) hold(ctx context.Context, tool *Tool) (*Tool, *server, error) {
	t.mu.Lock()
	now, err := t.calls.reachable(tool)
	if err != nil || now.local != nil {
		t.mu.Unlock()
		return now, nil, err
	}
	rests := now.client == nil
	if now.policy.users == nil && rests {
		t.mu.Unlock()
		if now, err = t.awake(ctx, now); err != nil || now.local != nil {
			return now, nil, err
		}
		t.mu.Lock()
		if now.client == nil { // it rests again
			t.mu.Unlock()
			return nil, nil, &unsentError{fmt.Errorf("server %q: %w", now.policy.label, errResting)}
		}
	}
	if now.policy.users == nil {
		defer t.mu.Unlock()
		s := t.serverOfLocked(now.policy)
		s.use(callerOf(ctx))
		return now, s, nil
	}
	t.mu.Unlock()
	s, err := t.userConn(ctx, now.policy)
	if err != nil {
		return nil, nil, err
	}
	own, err := t.toolOf(s, now)
	if err != nil {
		s.release(callerOf(ctx))
		if rests { // the list that was kept is an old one
			_, _ = t.awake(ctx, now) // the next catalog has what there is now
		}
		return nil, nil, err
	}
	return own, s, nil
}

// errResting is for a call that met the end of an idle connection.
var errResting = errors.New("the connection has ended because nothing used it; try again")

// toolOf is a tool on the connection of a user, where it must be what it is on that of all.
func (t *Toolset) toolOf(s *server, tool *Tool) (*Tool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(s.tools, func(own *Tool) bool { return own.def.Name == tool.def.Name })
	switch {
	case i < 0:
		return nil, &staleToolError{tool: tool.name, server: s.label, reason: toolGone}
	case s.tools[i].fingerprint != tool.fingerprint:
		return nil, &staleToolError{tool: tool.name, server: s.label, reason: toolChanged}
	}
	return s.tools[i].named(tool.name), nil
}

// use counts a call of a caller. Toolset.mu is held.
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
func (t *Toolset) released(s *server, by *Caller) {
	t.mu.Lock()
	s.uses--
	if s.callers[by]--; s.callers[by] == 0 {
		delete(s.callers, by)
	}
	over := s.uses == 0 && s.retired
	switch {
	case over:
		t.retired = slices.DeleteFunc(t.retired, func(r *server) bool { return r == s })
	case s.uses == 0 && s.ready != nil:
		t.restLocked(s)
	case s.uses == 0 && s.lazy():
		t.dozeLocked(s)
	}
	if s.policy.users != nil {
		s.policy.users.wakeLocked()
	}
	t.mu.Unlock()
	if over {
		t.start(func() { _ = s.close() })
	}
}

// retire closes a connection that was replaced, once its calls are over.
func (t *Toolset) retire(s *server) {
	s.end()
	t.mu.Lock()
	s.retired = true
	busy := s.uses > 0 && s.client.Err() == nil && !t.closed
	if busy {
		t.retired = append(t.retired, s)
	}
	t.mu.Unlock()
	if !busy {
		_ = s.close()
	}
}

// serverOf is the server with a policy, nil if it has left the toolset.
func (t *Toolset) serverOf(p *policy) *server {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serverOfLocked(p)
}

func (t *Toolset) serverOfLocked(p *policy) *server {
	i := slices.IndexFunc(t.servers, func(s *server) bool { return s.policy == p })
	if i < 0 {
		return nil
	}
	return t.servers[i]
}
