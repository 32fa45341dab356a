package adapter

import (
	"slices"

	"github.com/mcpchain/mcpchain/internal/caller"
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
func (s *server) canServeLocked(who *caller.Caller) bool {
	return s.uses == 0 || s.lastCaller == who || s.isOpened() && s.client.SeparatesCalls()
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

// findLocked returns a connection of the user that takes a call now. Without one, busy reports
// whether the call has to wait for one: other calls use it, and wait for no answer of a person.
func (p *pool) findLocked(user string, who *caller.Caller) (conn *server, busy bool) {
	for _, s := range p.conns {
		switch {
		case s.user != user || s.retired || s.isOpened() && (s.err != nil || s.client.Err() != nil):
		case s.canServeLocked(who):
			return s, false
		case s.openQuestions == 0:
			busy = true
		}
	}
	return nil, busy
}

// countCallLocked counts a call on a connection, and makes it the most recently used.
func (p *pool) countCallLocked(s *server, who *caller.Caller) {
	s.countCallLocked(who)
	if i := slices.Index(p.conns, s); i >= 0 {
		p.conns = append(slices.Delete(p.conns, i, i+1), s)
	}
}

// makeRoomLocked retires the least recently used connection without calls, if the pool has max. It stays there until it is
// closed. ok is false if all others have calls.
func (p *pool) makeRoomLocked(max int) (unused *server, ok bool) {
	if len(p.conns) < max {
		return nil, true
	}
	i := slices.IndexFunc(p.conns, func(s *server) bool { return s.uses == 0 && !s.retired })
	if i < 0 {
		return nil, false
	}
	unused = p.conns[i]
	unused.retired = true
	return unused, true
}

// removeLocked removes a connection, if it is there. p may be nil.
func (p *pool) removeLocked(s *server) {
	if p != nil {
		p.conns = slices.DeleteFunc(p.conns, func(c *server) bool { return c == s })
		p.wakeLocked()
	}
}
