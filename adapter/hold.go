package adapter

import (
	"context"
	"slices"
)

// hold returns a tool as it is at present, with the connection for a call of it. The caller releases the connection.
func (t *Toolset) hold(_ context.Context, tool *Tool) (*Tool, *server, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, err := t.calls.reachable(tool)
	if err != nil || now.client == nil {
		return now, nil, err
	}
	s := t.serverOfLocked(tool.policy)
	s.uses++
	return now, s, nil
}

// release ends what hold began.
func (s *server) release() {
	if s != nil {
		s.released(s)
	}
}

// released counts a call that is over, and closes a connection that only waited for that.
func (t *Toolset) released(s *server) {
	t.mu.Lock()
	s.uses--
	over := s.uses == 0 && s.retired
	if over {
		t.retired = slices.DeleteFunc(t.retired, func(r *server) bool { return r == s })
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
