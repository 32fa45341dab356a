package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

const (
	// renewTimeout bounds the beginning of a new session.
	renewTimeout = 30 * time.Second

	// renewPause is how long after a new session the end of the standalone
	// stream does not begin another one.
	renewPause = time.Minute

	// maxOwners bounds how often a request changes to a session of another user, before
	// it is sent.
	maxOwners = 5
)

// sessions renew what the server remembers of a client, and forgets: a legacy server
// over HTTP when it likes ("When a client receives HTTP 404 in response to a request
// containing an Mcp-Session-Id, it MUST start a new session", 2025-11-25
// transports), and any other one with its connection.
type sessions struct {
	renewals *renewal.Group
	life     *lifecycle.Lifecycle
	log      *slog.Logger
	client   sessionClient
	eras     eras
}

// sessionClient is what sessions need of their client.
type sessionClient interface {
	sessionHolder() sessionHolder // the connection in use

	// beginSession begins a session on it, with what belonged to the one before.
	beginSession(ctx context.Context) error

	// askAgain finds out what the server speaks now, and has the client speak that.
	askAgain(ctx context.Context) error

	// refusedForNothing reports whether a refusal of the revision in use names it among those that the server speaks.
	refusedForNothing(err error) bool
}

// sessionHolder is a connection that may have a session.
type sessionHolder interface {
	sessionID() string

	// loseSession takes the session for one that has ended, and gives up what is
	// answered in it. With restore it continues, unless there is another.
	loseSession() (restore func())
}

// lostSession returns the session that the server no longer knows.
func lostSession(err error) (id string, ok bool) {
	lost, ok := errors.AsType[wire.LostSessionError](err)
	if !ok || lost.LostSession() == "" {
		return "", false
	}
	return lost.LostSession(), true
}

// settle waits while a session or a connection begins, whatever comes of it.
func (s *sessions) settle(ctx context.Context) error { return s.renewals.Settle(ctx) }

// resend is called for a request that failed with err. If the server had forgotten the
// session it begins a new one, if the connection was lost it waits for the next. It
// reports whether to send the request again, which happened so often before.
func (s *sessions) resend(ctx context.Context, r *request, err error, resends int) (again bool, _ error) {
	if errors.Is(err, ErrConnectionLost) {
		return s.reconnected(ctx, r, err)
	}
	if _, other := errors.AsType[*wire.OwnerError](err); other {
		return s.otherOwner(ctx, err, resends)
	}
	if !r.renamed && s.client.refusedForNothing(err) {
		r.renamed = true // once: a server that keeps refusing what it names is broken
		return true, nil
	}
	id, lost := lostSession(err)
	if !lost {
		return s.eras.resend(ctx, r, err)
	}
	if renewErr := s.renewSession(ctx, id); renewErr != nil {
		return false, fmt.Errorf("%w: %w; and could not start a new session: %w", ErrSessionLost, err, renewErr)
	}
	if again, err := s.eras.resend(ctx, r, err); again {
		return true, err
	}
	if !repeatable(r.method) || r.resent {
		return false, fmt.Errorf("%w; a new one has begun, but the request was not sent again: %w", ErrSessionLost, err)
	}
	r.resent = true
	return true, nil
}

// notifyAgain is called for a notification that failed with err after so many new sessions.
// It reports whether to send it again: nothing is lost if the server sees it twice.
func (s *sessions) notifyAgain(ctx context.Context, err error, renewed int) (again bool, _ error) {
	id, lost := lostSession(err)
	switch {
	case !lost:
		return s.otherOwner(ctx, err, renewed)
	case renewed > 0:
		return false, fmt.Errorf("%w: %w", ErrSessionLost, err)
	}
	if renewErr := s.renewSession(ctx, id); renewErr != nil {
		return false, fmt.Errorf("%w: %w; and could not start a new session: %w", ErrSessionLost, err, renewErr)
	}
	return true, nil
}

// notice has a new session begin if err, of a message that has no caller, says that the server has
// forgotten its own, and reports whether it says so. A session that is lost at once has to be found
// lost by a request: a server that refuses such messages alone would get one session after the other.
func (s *sessions) notice(err error) (lost bool) {
	id, lost := lostSession(err)
	if lost && !s.renewals.Recent(renewPause) {
		s.life.Start(func() {
			if err := s.renewSession(s.life.Context(), id); err != nil && !s.life.IsClosed() {
				s.log.Warn("the server has forgotten the session, and could not start a new one", "error", err)
			}
		})
	}
	return lost
}

// reconnected waits for the next connection after a request has failed with err,
// and reports whether to send it again. What a renewal sends has none to wait for.
func (s *sessions) reconnected(ctx context.Context, r *request, err error) (again bool, _ error) {
	_, unsent := errors.AsType[*unsentError](err)
	if s.renewals.Within(ctx) || !unsent && (!repeatable(r.method) || r.resent) {
		return false, err
	}
	if err := s.renewals.Settle(ctx); err != nil {
		return false, err
	}
	if !s.life.IsOpen() {
		return false, s.life.Cause()
	}
	r.resent = r.resent || !unsent
	return true, nil
}

// renewSession replaces the session with this id, which the server
// has forgotten.
func (s *sessions) renewSession(ctx context.Context, id string) error {
	return s.replace(ctx, id, func(ctx context.Context) error {
		s.log.Debug("the server has forgotten the session: beginning a new one")
		restore := s.client.sessionHolder().loseSession()
		err := s.client.beginSession(ctx)
		if err != nil {
			restore() // the server may know it after all
		}
		return err
	})
}

// otherOwner begins a session for the user of a message that failed with err, where it
// was not sent as the session is of another one, and reports whether to send it.
func (s *sessions) otherOwner(ctx context.Context, err error, renewed int) (again bool, _ error) {
	other, ok := errors.AsType[*wire.OwnerError](err)
	if !ok || renewed >= maxOwners {
		return false, err
	}
	begin := func(own context.Context) error { return s.beginForOwner(renewal.WithValuesOf(ctx, own)) }
	if err := s.replace(ctx, other.Session, begin); err != nil {
		return false, fmt.Errorf("%w: could not start a new session: %w", other, err)
	}
	return true, nil
}

// beginForOwner begins a session for the user whose token there is, also where that
// changes meanwhile. The session before continues with its calls, and ends by itself.
func (s *sessions) beginForOwner(ctx context.Context) (err error) {
	for range maxOwners {
		err = s.client.beginSession(ctx)
		if _, other := errors.AsType[*wire.OwnerError](err); !other {
			return err
		}
	}
	return err
}

// replace has begin start a session instead of the one with this id, once for all
// who ask.
func (s *sessions) replace(ctx context.Context, id string, begin func(context.Context) error) error {
	if s.renewals.Within(ctx) {
		return errors.New("the new session was lost too")
	}
	return s.renewals.Renew(ctx, func() bool { return s.client.sessionHolder().sessionID() == id }, begin)
}

// loseSession implements [sessionHolder].
func (l *link) loseSession() (restore func()) {
	lost := l.exchange.Session()
	if lost != nil {
		lost.SetOver(true)
	}
	l.dispatcher.abandon(lost)
	return func() {
		if lost != nil && l.exchange.Session() == lost {
			lost.SetOver(false)
		}
	}
}

// sessionRef is where a request goes: a connection, and over HTTP a session on that.
type sessionRef struct {
	connection int64        // counted from 1; 0 for none
	session    wire.Session // nil for none
}

// sessionID is that of the next request, "" for none.
func (l *link) sessionID() string {
	if s := l.nextSession().session; s != nil && !s.Over() {
		return s.ID()
	}
	return ""
}

// nextSession is where the next request goes.
func (l *link) nextSession() sessionRef {
	if l.exchange == nil {
		return sessionRef{connection: l.number}
	}
	return sessionRef{l.number, l.exchange.Session()}
}

// session is where the request went.
func (f *inFlight) session(l *link) sessionRef {
	if f.sent == nil {
		return sessionRef{connection: l.number}
	}
	return sessionRef{l.number, f.sent.Session()}
}

// errLostCursor is the error of a request whose cursor its server has forgotten:
// "clients MUST NOT persist cursors across sessions". Where there are no sessions
// they outlive the connection.
var errLostCursor = fmt.Errorf("%w: its cursor is of the session before: list again from the first page", ErrSessionLost)
