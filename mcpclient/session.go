package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// maxOwners bounds how often a message is sent again, and a session begun again, because the user of the token has changed
// meanwhile.
const maxOwners = 5

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

// awaitSession waits while a session or connection begins, regardless of the outcome, and begins another session if the current
// one is unfinished. It returns the era to use. Unless ctx belongs to a renewal, no handshake is still trying that era.
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

// resend implements [resender]. It begins a session if the old one is lost or belongs to another user, waits for the next
// connection if this one is lost, or probes the era.
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
