package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// lender gives calls the use of connections. A connection that was replaced is closed after its
// last call, and one that can be reopened is closed after a time without calls.
type lender struct {
	opts   *Options
	roster *roster
	pools  map[*serverState]*pool // for servers with [Server.PerUser]; guarded by the lock of the roster

	connectedTool func(*Tool) (*Tool, error) // calls.connectedTool
	callUser      func(context.Context) (user string, known bool)

	// Provided by the connector.
	newServer      func(*serverState) *server
	open           func(context.Context, *server) error
	connectIdle    func(context.Context, *serverState) error // connects a server that is idle
	disconnectIdle func(*server)                             // disconnects a lazy server; called with the lock held
	relist         func(context.Context, *server) error      // connector.relistUserTools
}

// hold returns the present version of a tool, with its connection until release is called, for a call with these options.
func (l *lender) hold(ctx context.Context, tool *Tool, opts []mcpclient.CallOption) (now *Tool, release func(), err error) {
	now, err = l.connectedTool(tool)
	switch {
	case err != nil:
		return nil, nil, err
	case now.local != nil:
		return now, func() {}, nil
	case now.server.recipe.PerUser > 0:
		return l.holdPerUser(ctx, now, opts)
	case now.client == nil:
		if err := l.connectIdle(ctx, now.server); err != nil {
			return nil, nil, err
		}
	}
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	if now, err = l.connectedTool(now); err != nil { // with the server's present connection
		return nil, nil, err
	}
	_, release, err = l.sharedLocked(ctx, now.server)
	return now, release, err
}

// holdPerUser is hold for a server with a connection per user.
func (l *lender) holdPerUser(
	ctx context.Context, tool *Tool, opts []mcpclient.CallOption,
) (now *Tool, release func(), err error) {
	s, release, err := l.userConn(ctx, tool.server, opts)
	if err != nil {
		return nil, nil, err
	}
	if err = l.relist(ctx, s); err == nil {
		now, err = l.userTool(s, tool)
	}
	if err == nil {
		return now, release, nil
	}
	release()
	if tool.client == nil { // the stored list is outdated
		_ = l.connectIdle(ctx, tool.server) // the next catalog gets the present list
	}
	return nil, nil, err
}

// conn returns a connection to a server for a request with these options, which may be used until release is called.
func (l *lender) conn(
	ctx context.Context, state *serverState, opts []mcpclient.CallOption,
) (s *server, release func(), err error) {
	if state.recipe.PerUser > 0 {
		return l.userConn(ctx, state, opts)
	}
	if err := l.connectIdle(ctx, state); err != nil {
		return nil, nil, err
	}
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	return l.sharedLocked(ctx, state)
}

// sharedLocked is conn for the connection that all users of a server share, if it is there.
func (l *lender) sharedLocked(ctx context.Context, state *serverState) (_ *server, release func(), err error) {
	s := l.roster.findLocked(state)
	switch {
	case s == nil:
		return nil, nil, &unsentError{removedError(state)}
	case s.client == nil: // it became idle again
		return nil, nil, &unsentError{fmt.Errorf("server %q: %w", state.label, errIdleClosed)}
	}
	who := caller.From(ctx)
	s.countCallLocked(who)
	return s, func() { l.release(s, who) }, nil
}

// errIdleClosed is the error of a call on a connection that has just become idle.
var errIdleClosed = errors.New("the connection has ended because nothing used it; try again")

func removedError(state *serverState) error { return fmt.Errorf("server %q was removed", state.label) }

// userTool returns a tool on the connection of a user. It must be the same as on the shared connection.
func (l *lender) userTool(s *server, tool *Tool) (*Tool, error) {
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	i := slices.IndexFunc(s.tools, func(own *Tool) bool { return own.def.Name == tool.def.Name })
	switch {
	case i < 0:
		return nil, &staleToolError{tool: tool.name, server: s.state.label, reason: toolGone}
	case s.tools[i].fingerprint != tool.fingerprint:
		return nil, &staleToolError{tool: tool.name, server: s.state.label, reason: toolChanged}
	}
	return s.tools[i].withName(tool.name), nil
}

// countCallLocked counts a call of a caller.
func (s *server) countCallLocked(who *caller.Caller) {
	s.uses++
	s.lastCaller = who
	if s.callers == nil {
		s.callers = map[*caller.Caller]int{}
	}
	s.callers[who]++
}

// release ends the use of a connection by a call, and closes a replaced connection after its last one.
func (l *lender) release(s *server, who *caller.Caller) {
	r := l.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s.uses--
	if s.callers[who]--; s.callers[who] == 0 {
		delete(s.callers, who)
	}
	switch {
	case s.uses > 0:
	case s.retired:
		r.retired = slices.DeleteFunc(r.retired, func(other *server) bool { return other == s })
		r.startLocked(func() { _ = s.close() })
	default:
		l.closeWhenIdleLocked(s)
	}
	l.pools[s.state].wakeLocked()
}

// idleStop is how long an unused connection stays open if the next call can open another.
const idleStop = 10 * time.Minute

// closeWhenIdle is closeWhenIdleLocked for a server that has joined the toolset, and may never be called.
func (l *lender) closeWhenIdle(s *server) {
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	l.closeWhenIdleLocked(s)
}

// closeWhenIdleLocked closes a connection that the next call can open again, after idleStop without calls.
func (l *lender) closeWhenIdleLocked(s *server) {
	r := l.roster
	if canReopen := s.ready != nil || s.isLazy(); !canReopen || s.client == nil || s.uses > 0 || r.closed {
		return
	}
	s.stopIdleLocked()
	var timer *time.Timer
	timer = time.AfterFunc(idleStop, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case s.uses > 0 || s.idle != timer || s.retired: // it was used again, or is closed already
		case s.ready != nil:
			l.stopLocked(s)
		case r.findLocked(s.state) == s:
			l.disconnectIdle(s)
		}
	})
	s.idle = timer
}

// stopIdleLocked ends the wait of closeWhenIdleLocked.
func (s *server) stopIdleLocked() {
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// retire closes a replaced connection after its last call.
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

// question counts a question of the server while it is being answered. Meanwhile other
// conversations get connections of their own, so that they need not wait for a person. If the
// question is refused because it may belong to several conversations, Caller.Unanswered of each is called.
func (l *lender) question(ctx context.Context, s *server) (answered func(error)) {
	known := caller.From(ctx) != nil
	l.countQuestion(s, 1)
	return func(err error) {
		var callers []*caller.Caller
		if err != nil && !known {
			l.roster.mu.Lock()
			callers = slices.Collect(maps.Keys(s.callers))
			l.roster.mu.Unlock()
		}
		l.countQuestion(s, -1)
		for _, c := range callers {
			if c != nil && c.Unanswered != nil {
				_ = runGuarded(l.opts.Logger, "Caller.Unanswered", func() error { c.Unanswered(s.state.label, err); return nil })
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
