package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/mcpclient"
)

const (
	// longestWait bounds the wait for a connection without a timeout of the call.
	longestWait = 24 * time.Hour

	// Reasons to wait.
	waitsForCall = "waits for a call of another conversation at the server %q"
	waitsForRoom = "waits for a connection to the server %q: all %d are in use"
)

// userConn returns the connection of the context's user for a call with these options, and waits until it is free, for the
// timeout of the call or else for longestWait. It reports to the context's caller why it waits. After an error nothing
// was sent.
func (l *lender) userConn(
	ctx context.Context, state *serverState, opts []mcpclient.CallOption,
) (_ *server, release func(), err error) {
	user, known := l.callUser(ctx)
	if !known {
		err := fmt.Errorf("server %q has a connection for each user: Options.User names none for the call", state.label)
		return nil, nil, &unsentError{err}
	}
	who := caller.From(ctx)
	limit, _ := mcpclient.TimeoutOf(opts...)
	if limit <= 0 {
		limit = longestWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no connection was free within %v (Policy.CallTimeout or WithTimeout)", limit))
	defer cancel()
	for {
		conn, err := l.borrow(ctx, state, user, who)
		if err != nil {
			return nil, nil, &unsentError{err}
		}
		if err = await(ctx, conn.ready); err == nil {
			err = conn.err
		}
		if err == nil {
			return conn, func() { l.release(conn, who) }, nil
		}
		l.release(conn, who)
		if _, abandoned := errors.AsType[*abandonedError](err); !abandoned || ctx.Err() != nil {
			return nil, nil, &unsentError{err}
		}
	}
}

// borrow returns a connection of a user, which may still be opening. It waits until one is free, and reports why.
func (l *lender) borrow(ctx context.Context, state *serverState, user string, who *caller.Caller) (*server, error) {
	reported := ""
	for {
		lent, err := l.choose(state, user, who)
		if err != nil {
			return nil, err
		}
		if lent.unopened {
			l.openFor(ctx, lent.conn)
		}
		if lent.conn != nil {
			return lent.conn, nil
		}
		if lent.reason != reported {
			reported = lent.reason
			reportWaiting(ctx, l.opts.Logger, reported)
		}
		if err := await(ctx, lent.changed); err != nil {
			return nil, fmt.Errorf("server %q: %w", state.label, err)
		}
	}
}

// loan is a connection for a call, or the reason why the call has to wait, and until when.
type loan struct {
	conn     *server // nil if the call has to wait
	unopened bool    // the call opens it by openFor

	reason  string
	changed <-chan struct{} // closed when another choice may have a connection
}

// await waits until a channel is closed, or returns the error of ctx.
func await(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return bound.Ended(ctx)
	}
}

// choose chooses a connection for a call, and counts the call on it.
func (l *lender) choose(state *serverState, user string, who *caller.Caller) (loan, error) {
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	base := l.roster.findLocked(state)
	switch {
	case l.roster.closed:
		return loan{}, errToolsetClosed
	case base == nil:
		return loan{}, removedError(state)
	}
	p := l.pools[state]
	if p == nil {
		p = &pool{changed: make(chan struct{})}
		l.pools[state] = p
	}
	s, busy := p.findLocked(user, who)
	switch {
	case s != nil:
		p.countCallLocked(s, who)
		return loan{conn: s}, nil
	case busy:
		return loan{reason: fmt.Sprintf(waitsForCall, state.label), changed: p.changed}, nil
	}
	unused, ok := p.makeRoomLocked(state.recipe.PerUser)
	if !ok {
		return loan{reason: fmt.Sprintf(waitsForRoom, state.label, state.recipe.PerUser), changed: p.changed}, nil
	}
	s = l.newServer(state)
	s.user, s.ready, s.pins, s.replaces, s.seen = user, make(chan struct{}), base.pins, unused, state.changes
	p.conns = append(p.conns, s)
	p.countCallLocked(s, who)
	l.roster.background.Add(1) // until the end of openFor
	return loan{conn: s, unopened: true}, nil
}

// abandonedError is the error of a connection whose call ended while it opened it. Other calls that
// wait for the connection open another.
type abandonedError struct{ error }

func (e *abandonedError) Unwrap() error { return e.error }

// openFor opens the connection of a user for all calls that wait for it. When the connection ends, it leaves the pool,
// and the next call opens another.
func (l *lender) openFor(ctx context.Context, s *server) {
	defer l.roster.background.Done()
	if old := s.replaces; old != nil { // closed first, because the bound counts processes
		closed := make(chan struct{})
		l.roster.background.Go(func() {
			_ = old.close()
			l.roster.mu.Lock()
			defer l.roster.mu.Unlock()
			l.pools[s.state].removeLocked(old)
			close(closed)
		})
		_ = await(ctx, closed) // if ctx has ended, open fails
		s.replaces = nil
	}
	opening, cancel := l.roster.withLife(ctx)
	defer cancel()
	err := l.open(opening, s)
	if err != nil && ctx.Err() != nil {
		err = &abandonedError{err}
	}
	switch usable := l.setOpened(s, err); {
	case usable:
		close(s.watch.joined)
		s.client.AfterEnd(func(err error) { l.onUserConnEnd(s, err) })
	case err == nil: // the toolset was closed, or the server removed
		_ = s.close()
	}
}

// setOpened ends the wait for a connection that is open or could not be opened. usable is false also if the toolset was
// closed or the server removed meanwhile.
func (l *lender) setOpened(s *server, err error) (usable bool) {
	l.roster.mu.Lock()
	defer l.roster.mu.Unlock()
	switch {
	case l.roster.closed:
		err = errToolsetClosed
	case l.roster.findLocked(s.state) == nil:
		err = removedError(s.state)
	}
	s.err = err
	if err != nil {
		l.pools[s.state].removeLocked(s)
	}
	close(s.ready)
	l.pools[s.state].wakeLocked()
	return err == nil
}

func (l *lender) onUserConnEnd(s *server, err error) {
	l.roster.mu.Lock()
	expected := s.retired || l.roster.closed
	if !expected {
		l.pools[s.state].removeLocked(s)
	}
	l.roster.mu.Unlock()
	if !expected {
		l.opts.Logger.Warn("the connection of a user to a server ended; the next call makes another",
			"server", s.state.label, "error", err)
	}
}

// stopLocked closes the connection of a user when its last call has ended.
func (l *lender) stopLocked(s *server) {
	l.pools[s.state].removeLocked(s)
	s.retired = true
	if s.uses > 0 {
		l.roster.retired = append(l.roster.retired, s)
		return
	}
	l.roster.startLocked(func() { _ = s.close() })
}

// stopUsers closes the connections of all users of a server.
func (l *lender) stopUsers(state *serverState) {
	r := l.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := l.pools[state]; p != nil {
		for _, s := range slices.Clone(p.conns) {
			l.stopLocked(s)
		}
	}
}

// take takes the connections of all users of a removed server out of the pool, and returns those to close: also the ones
// that were replaced and still have calls, but not those that are being opened, which setOpened refuses.
func (l *lender) take(state *serverState) []*server {
	r := l.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(r.retired), func(s *server) bool { return s.state != state })
	if p := l.pools[state]; p != nil {
		for _, s := range p.conns {
			s.retired = true
			s.stopIdleLocked()
			if s.isOpened() {
				out = append(out, s)
			}
		}
		delete(l.pools, state)
		p.wakeLocked()
	}
	return out
}
