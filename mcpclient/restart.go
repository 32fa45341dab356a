package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Restart makes a client continue when its connection ends by itself, for example because the
// process of a [Command] died: the transport is dialed again, after a wait that grows from 500 ms to
// 30 s, up to half of it at random. It is for
// transports with one connection that can be dialed repeatedly: [Command], and [HTTP] with SSE.
// Other [HTTP] has no connection that could end, and [IO] and [Pipe] can be dialed only once. The
// zero value is valid.
//
// Current calls end immediately with [ErrConnectionLost] and the reason. Those that can safely be
// repeated (lists, reads, [Client.Ping], …) are made once more on the next connection; a tool call
// only if nothing of it was written. Later calls wait for that connection as long as their contexts
// allow. It begins with the revision of the previous one; only if the server refuses that, the
// client probes it. The log level and watched resources are restored, the cache is cleared, and
// subscriptions get [mcp.Stale].
//
// When all attempts have failed the client ends, and [Client.Err] has the reason. The first
// connection is not retried: Connect fails.
type Restart struct {
	// Attempts bounds the consecutive attempts. An attempt counts until a connection has lasted
	// for a minute, even if it succeeded, so that a server that dies after each start is given
	// up. Default 5, at most 1,000.
	Attempts int

	// Notify is called before the wait for each attempt with the reason, and after a successful
	// attempt with nil. Consecutive attempts count from 1. It is called in turn with
	// Options.OnNotification, on the same goroutine. Its calls wait with the notifications: if
	// more than 1,024 wait the oldest is dropped, and Close drops all.
	// Default nil: Options.Logger logs restarts.
	Notify func(attempt int, err error)
}

const (
	// restartTimeout bounds one attempt, including the handshake.
	restartTimeout = time.Minute

	// restartReset is how long a connection must last for earlier attempts to be forgotten.
	restartReset = time.Minute
)

func (r *Restart) withDefaults() *Restart {
	if r == nil {
		return nil
	}
	out := *r
	out.Attempts = min(cmp.Or(out.Attempts, 5), 1000)
	return &out
}

// restarts replaces connections that have ended. Connect uses it first, then one renewal at a time.
type restarts struct {
	Restart  // with defaults
	renewals *renewal.Group
	log      *slog.Logger
	current  func() *link                    // the connection in use
	reopen   func(ctx context.Context) error // opens another
	giveUp   func(err error)                 // ends the client
	scrub    func(err error) error
	queue    func(fn func()) // queues a call of Notify

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
	if !s.renewals.Start(func(ctx context.Context) error {
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
	old := s.current()
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
	for failure := reason; failure != nil; failure = s.reopen(ctx) {
		switch {
		case ctx.Err() != nil:
			return failure
		case s.attempts >= s.Attempts || errors.Is(failure, transport.ErrDialedOnce):
			return s.fail(reason, failure)
		}
		wait := backoff.Policy{}.Delay(s.attempts)
		s.attempts++
		s.report(wait, s.scrub(failure))
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

// report reports to Notify, or to the log, that an attempt follows after a wait or has succeeded.
func (s *restarts) report(wait time.Duration, err error) {
	attempt := s.attempts
	switch {
	case s.Notify != nil:
		s.queue(func() { s.Notify(attempt, err) })
	case err == nil:
		s.log.Info("the connection is up again", "attempt", attempt)
	default:
		s.log.Warn("the connection ended: making another", "attempt", attempt, "after", wait, "error", err)
	}
}
