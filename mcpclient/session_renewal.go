package mcpclient

import (
	"context"
	"errors"
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
)

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

// renewUntilReady replaces a lost or unfinished session after growing waits, unless a caller has done so. After the last new
// session it waits for renewPause: a server that only refuses messages without a caller would get one session after the other.
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
