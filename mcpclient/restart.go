package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const (
	// restartTimeout bounds one attempt, including the handshake.
	restartTimeout = time.Minute

	// restartReset is how long a connection must last for earlier attempts to be forgotten.
	restartReset = time.Minute
)

// restarts replaces connections that have ended. Its fields belong to Connect, and after that to the renewal that runs.
type restarts struct {
	connector   *connector
	connectedAt time.Time // when the last connection was ready
	attempts    int       // consecutive attempts
}

// begin begins a restart, unless one is in progress, and returns the error with which calls on
// l end. It is nil if restarts are not wanted.
func (s *restarts) begin(l *link, err error) error {
	if s == nil {
		return nil
	}
	lost := fmt.Errorf("%w: %w", ErrConnectionLost, err)
	if !s.connector.sessions.renewals.Start(func(ctx context.Context) error {
		select {
		case <-l.ended: // until then it may deliver answers
		case <-ctx.Done():
			return ctx.Err()
		}
		l.failCalls(lost) // before close, which fails calls as Close does
		return s.restart(ctx)
	}) {
		return nil
	}
	return lost
}

func (s *restarts) restart(ctx context.Context) (err error) {
	old := s.connector.link.Load()
	reason := old.endErr()
	err = renewal.ErrExited // if reopen does not return: then nothing would replace the connection
	defer func() {
		if err == renewal.ErrExited {
			s.giveUp(fmt.Errorf("%w; the restart: %w", reason, err))
		}
	}()
	_ = old.close()
	if time.Since(s.connectedAt) >= restartReset {
		s.attempts = 0
	}
	for failure := reason; failure != nil; failure = s.connector.reopen(ctx) {
		switch {
		case ctx.Err() != nil:
			return failure
		case s.attempts >= s.connector.limits.Restarts || errors.Is(failure, transport.ErrDialedOnce):
			return s.fail(reason, failure)
		}
		wait := backoff.Policy{}.Delay(s.attempts)
		s.attempts++
		s.report(wait, s.connector.scrubError(failure))
		if backoff.Sleep(ctx, wait) != nil {
			return failure
		}
	}
	s.connectedAt = time.Now()
	s.report(0, nil)
	return nil
}

func (s *restarts) fail(reason, last error) error {
	err := reason
	switch {
	case s.attempts == 0:
	case last == reason:
		err = fmt.Errorf("%w; the connection did not last after %d restarts in a row", reason, s.attempts)
	default:
		err = fmt.Errorf("%w; restarted %d times in a row, and at last: %w", reason, s.attempts, last)
	}
	s.giveUp(err)
	return err
}

// giveUp ends the client.
func (s *restarts) giveUp(err error) {
	s.connector.life.Fail(s.connector.scrubError(err), s.connector.disconnect)
}

// report reports to the host, or to the log, that an attempt follows after a wait or has succeeded.
func (s *restarts) report(wait time.Duration, err error) {
	attempt, notify, log := s.attempts, s.connector.opts.OnRestart, s.connector.log
	switch {
	case notify != nil:
		s.connector.callbacks.Add(func() { notify(attempt, err) }, 0)
	case err == nil:
		log.Info("the connection is up again", "attempt", attempt)
	default:
		log.Warn("the connection ended: making another", "attempt", attempt, "after", wait, "error", err)
	}
}
