package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

const (
	// renewTimeout bounds one attempt to begin a session or to find out the era, and the ping that tells whether the server
	// still knows the session.
	renewTimeout = 30 * time.Second

	// renewPause is how long after a new session only a failed request starts another one. The end of
	// the standalone stream and a failed message without a caller wait so long.
	renewPause = time.Minute

	// maxOwners bounds after how many resends a message still changes to a session of another user, and how often such a
	// session begins again because its user has changed meanwhile.
	maxOwners = 5
)

// sessions begins a new session when the server has forgotten the old one, and finds out when the
// server speaks another era. A legacy server over HTTP may forget a session at any time ("When a
// client receives HTTP 404 in response to a request containing an Mcp-Session-Id, it MUST start a new
// session", 2025-11-25 transports), any other server with its connection.
type sessions struct {
	*peer
	renewals *renewal.Group
	observed func() bool // something waits for messages of the server

	// begin begins a session on the connection in use, and restores what belonged to the previous one.
	begin func(ctx context.Context) error

	// renegotiate finds out which era the server speaks now, and switches the client to it.
	renegotiate func(ctx context.Context) error

	unfinished atomic.Bool // the session, or the era, has begun, and what belongs to it could not be restored

	mu       sync.Mutex
	probed   time.Time // when the era was last probed
	lost     string    // the last session that was found lost without a caller
	renewing bool      // renewUntilReady runs
}

func lostSessionID(err error) (id string, ok bool) {
	lost, ok := errors.AsType[wire.LostSessionError](err)
	if !ok || lost.LostSession() == "" {
		return "", false
	}
	return lost.LostSession(), true
}

// awaitSession waits while a session or connection begins, regardless of the outcome, and begins another session if the
// current one is unfinished. It returns the era to use. Outside a renewal that is not one that a handshake still tries.
func (s *sessions) awaitSession(ctx context.Context) (*eraBox, error) {
	for {
		if err := s.renewals.Wait(ctx); err != nil {
			return nil, err
		}
		if s.unfinished.Load() && !s.renewals.Within(ctx) && s.life.IsOpen() {
			if err := s.renewSession(ctx, s.link.Load().sessionID()); err != nil {
				return nil, &unsentError{fmt.Errorf("could not start a new session: %w", err)}
			}
			continue
		}
		era := s.era.Load()
		settled := !s.renewals.UnderWay() && era == s.era.Load()
		if settled || s.renewals.Within(ctx) || !s.life.IsOpen() {
			return era, nil
		}
	}
}

// resend is called for a request that failed with err after so many resends for any reason. It begins a session if
// the old one is lost or of another user, waits for the next connection if this one is lost, or probes
// the era. It reports whether to send the request again, and otherwise returns the error of the call.
func (s *sessions) resend(ctx context.Context, r *request, err error, resends int) (again bool, _ error) {
	if errors.Is(err, ErrConnectionLost) {
		return s.awaitReconnect(ctx, r, err)
	}
	if wraps[*wire.OwnerError](err) {
		return s.beginIfOtherOwner(ctx, err, resends)
	}
	if !r.revisionRetried && s.isSpuriousRefusal(err) {
		r.revisionRetried = true // only once: a server that keeps refusing what it lists is broken
		return true, nil
	}
	if r.sentEra == nil { // it was not sent
		return false, err
	}
	id, lost := lostSessionID(err)
	if !lost {
		return s.resendInOtherEra(ctx, r, err)
	}
	if renewErr := s.renewSession(ctx, id); renewErr != nil {
		return false, sessionLostError(err, renewErr)
	}
	if s.hasChangedEra(r) {
		return s.moveToEra(r, err)
	}
	if !repeatable(r.method) || r.resent {
		return false, fmt.Errorf("%w; a new one has begun, but the request was not sent again: %w", ErrSessionLost, err)
	}
	r.resent = true
	return true, nil
}

// sessionLostError returns the error of a message that failed with err in a lost session, without a new one because of renewErr.
func sessionLostError(err, renewErr error) error {
	return fmt.Errorf("%w: %w; and could not start a new session: %w", ErrSessionLost, err, &renewalError{renewErr})
}

// resendNotification is called for a notification that failed with err after so many resends.
// It reports whether to send it again, which is harmless if the server gets it twice.
func (s *sessions) resendNotification(ctx context.Context, err error, resends int) (again bool, _ error) {
	id, lost := lostSessionID(err)
	switch {
	case !lost:
		return s.beginIfOtherOwner(ctx, err, resends)
	case resends > 0:
		return false, fmt.Errorf("%w: %w", ErrSessionLost, err)
	}
	if renewErr := s.renewSession(ctx, id); renewErr != nil {
		return false, sessionLostError(err, renewErr)
	}
	return true, nil
}

// renewIfLost begins a new session if err, of a message without a caller, says that the server has
// forgotten its session, and reports whether it says so.
func (s *sessions) renewIfLost(err error) (lost bool) {
	id, lost := lostSessionID(err)
	if lost {
		s.renewLater(id, 0)
	}
	return lost
}

// renewLater replaces the session with this id without a caller, after so many failures to do so.
func (s *sessions) renewLater(id string, failures int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = id
	if !s.renewing {
		s.renewing = s.life.Start(func() { s.renewUntilReady(failures) })
	}
}

// renewUntilReady replaces a lost or unfinished session after growing waits, unless a caller has done so. It waits for
// renewPause after another session: a server that only refuses messages without a caller would get one after the other.
func (s *sessions) renewUntilReady(failures int) {
	ctx := backoff.Unattended(s.life.Context())
	for ; s.keepRenewing(); failures++ {
		wait := s.renewals.Pause(renewPause)
		if failures > 0 {
			wait = max(wait, relisten.Delay(failures-1))
		}
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
		if !s.keepRenewing() {
			return
		}
		err := s.renewSession(ctx, s.link.Load().sessionID())
		if err != nil && s.life.IsOpen() {
			s.link.Load().warnings.logFailure(ctx, "could not start a new session", "error", err)
		}
	}
}

// keepRenewing reports whether the current session still has to be replaced. If not, it records that renewUntilReady has
// ended, under the lock of renewLater, which may then start another one.
func (s *sessions) keepRenewing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewing = s.unfinished.Load() || s.lost != "" && s.lost == s.link.Load().sessionID()
	return s.renewing
}

// isSpuriousRefusal reports whether err refuses the current revision but lists it, as one of several instances may do
// during an update: "The client SHOULD select a mutually supported version from the supported list and retry the request" (2026-07-28).
func (p *peer) isSpuriousRefusal(err error) bool {
	named, refused := namedRevisions(err)
	revision := p.current().name()
	return refused && isModern(revision) && slices.Contains(named, revision)
}

// awaitReconnect waits for the next connection after a request has failed with err, and reports
// whether to send it again. Requests of a renewal itself do not wait.
func (s *sessions) awaitReconnect(ctx context.Context, r *request, err error) (again bool, _ error) {
	unsent := wraps[*unsentError](err)
	if s.renewals.Within(ctx) || !unsent && (!repeatable(r.method) || r.resent) {
		return false, err
	}
	if err := s.renewals.Wait(ctx); err != nil {
		return false, err
	}
	if !s.life.IsOpen() {
		return false, s.life.Cause()
	}
	r.resent = r.resent || !unsent
	return true, nil
}

// renewSession replaces the session with this id, which the server has forgotten, or which is unfinished.
func (s *sessions) renewSession(ctx context.Context, id string) error {
	return s.replace(ctx, id, func(ctx context.Context) (err error) {
		s.log.Debug("beginning a new session instead of a lost or unfinished one")
		restore := s.link.Load().loseSession()
		err = renewal.ErrExited
		defer func() {
			if err != nil {
				restore() // the server may know it after all
				s.renewIfObserved(id)
			}
		}()
		return s.begin(ctx)
	})
}

// beginIfOtherOwner begins a session for the user of a message that failed with err, if it was not
// sent because the session belongs to another user. It reports whether to send the message.
func (s *sessions) beginIfOtherOwner(ctx context.Context, err error, resends int) (again bool, _ error) {
	other, ok := errors.AsType[*wire.OwnerError](err)
	switch {
	case !ok:
		return false, err
	case resends >= maxOwners:
		return false, &unsentError{err}
	}
	if err := s.replace(ctx, other.Session, s.beginForOwner); err != nil {
		return false, &unsentError{fmt.Errorf("%w: could not start a new session: %w", other, err)}
	}
	return true, nil
}

// beginForOwner begins a session for the user of the current token, even if that changes
// meanwhile. The previous session continues with its calls and ends by itself.
func (s *sessions) beginForOwner(ctx context.Context) (err error) {
	for range maxOwners {
		if err = s.begin(ctx); !wraps[*wire.OwnerError](err) {
			return err
		}
	}
	return err
}

// replace replaces the session with this id by calling begin, once for all callers.
func (s *sessions) replace(ctx context.Context, id string, begin func(context.Context) error) error {
	if s.renewals.Within(ctx) {
		return errors.New("new session was lost, too")
	}
	isCurrent := func() bool { return s.link.Load().sessionID() == id }
	return s.renew(ctx, isCurrent, func() bool { return !isCurrent() }, begin)
}

// renew calls begin, once for all callers, if that is needed. If begin fails although a session has begun, that session is
// unfinished.
func (s *sessions) renew(ctx context.Context, needed, hasBegun func() bool, begin func(context.Context) error) error {
	return s.renewals.Renew(ctx, needed, func(ctx context.Context) (err error) {
		err = renewal.ErrExited
		defer func() {
			s.unfinished.Store(err != nil && (s.unfinished.Load() || hasBegun()))
			if s.unfinished.Load() {
				s.renewIfObserved(s.link.Load().sessionID())
			}
		}()
		err = begin(ctx)
		return err
	})
}

// renewIfObserved replaces the session with this id, which could not be replaced or finished, if something waits for
// messages of the server. Otherwise the next call does it.
func (s *sessions) renewIfObserved(id string) {
	if s.observed() {
		s.renewLater(id, 1)
	}
}
