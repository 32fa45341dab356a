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

// Restart makes a client continue when its connection ends by itself, as it does when
// the process of a [Command] dies: the transport is dialed again, after a wait
// that grows. It is for transports with one connection that can be dialed more
// than once, which [Command] and [HTTP] with SSE are; other [HTTP] has nothing that could end,
// and [IO] and [Pipe] cannot be dialed again. The zero value is valid.
//
// Calls under way end at once with [ErrConnectionLost] and the reason. Those that
// do the same when they are made twice (lists, reads, [Client.Ping], …) are made
// once more on the next connection; a tool call only if nothing of it was written. Later calls wait for
// that connection for as long as their contexts allow. It is spoken to as the one
// before, unless the server refuses that: then the handshake starts again. The
// log level and the resources that are watched are told again, what was cached is
// forgotten, and subscriptions get [mcp.Stale].
//
// When all attempts are used up the client has ended: [Client.Err] says why. The
// first connection is not tried again: Connect fails.
type Restart struct {
	// Attempts bounds the attempts in a row. One counts until a connection has
	// held for a minute, also when it succeeds: a server that dies after each start
	// is given up. Default 5, at most 1,000.
	Attempts int

	// First and Longest are the waits before the first attempt and before all of
	// them: the wait doubles from attempt to attempt. Up to half of a wait is left to
	// chance, so that clients that lost a server together do not come back together.
	// Default 500 ms and 30 s, at most 1 h.
	First, Longest time.Duration

	// Notify is told before the wait for each attempt, with the reason for it, and after the
	// success of an attempt, with nil. The attempts in a row count from 1. It runs in turn with
	// Options.OnNotification and on the same goroutine. What it is told waits with the
	// notifications: if more than Options.Limits.Notifications wait, as an observer is
	// slow, the oldest is dropped; Close drops those that wait. Default nil:
	// Options.Logger is told instead.
	Notify func(attempt int, err error)
}

// restartTimeout bounds one attempt, the handshake included.
const restartTimeout = time.Minute

// restartReset is how long a connection must hold for the attempts before it to be forgotten.
const restartReset = time.Minute

// errOtherEra ends the subscriptions of a server that is not what it was.
var errOtherEra = fmt.Errorf("%w: it came back speaking another era of the protocol: subscribe again", ErrSubscriptionEnded)

func (r *Restart) withDefaults() *Restart {
	if r == nil {
		return nil
	}
	out := *r
	out.Attempts = min(cmp.Or(max(out.Attempts, 0), 5), 1000)
	out.First = cmp.Or(max(out.First, 0), 500*time.Millisecond)
	out.Longest = min(cmp.Or(max(out.Longest, 0), 30*time.Second), time.Hour)
	return &out
}

// unsentError is why a request was not even begun to be sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// restarts replace a connection that ended. One is used by Connect, and
// then by the renewal that is under way.
type restarts struct {
	Restart  // with defaults
	renewals *renewal.Group
	log      *slog.Logger
	held     func() restartable              // the connection in use
	reopen   func(ctx context.Context) error // makes another
	giveUp   func(err error)                 // ends the client
	scrub    func(err error) error
	queue    func(tell func()) // for Notify

	up     time.Time // when the last connection was ready
	failed int       // attempts in a row
}

// restartable is a connection that may end by itself.
type restartable interface {
	over() <-chan struct{} // closed when it has
	dead() error           // why
	failCalls(err error)
	end() error
}

// begin begins a restart, unless one is under way, and returns the error that the calls
// on l then end with. It is nil if none is wanted.
func (s *restarts) begin(l restartable, err error) error {
	if s == nil {
		return nil
	}
	lost := fmt.Errorf("%w: %w", ErrConnectionLost, err)
	if !s.renewals.Start(func(ctx context.Context) error {
		select {
		case <-l.over(): // before that it may bring answers
		case <-ctx.Done():
			return ctx.Err()
		}
		l.failCalls(lost) // before that is done as for a connection that we end
		return s.restart(ctx)
	}) {
		return nil
	}
	return lost
}

// restart replaces a connection that ended.
func (s *restarts) restart(ctx context.Context) error {
	old := s.held()
	reason := old.dead()
	_ = old.end()
	if time.Since(s.up) >= restartReset {
		s.failed = 0
	}
	policy := backoff.Policy{First: s.First, Max: s.Longest}
	lost := reason // what the loop begins with
	err := backoff.Loop(ctx, policy, func() error {
		if err := lost; err != nil {
			lost = nil
			return err
		}
		return s.reopen(ctx)
	}, func(f *backoff.Failure) error {
		switch {
		case ctx.Err() != nil:
			return f.Err
		case s.failed >= s.Attempts || errors.Is(f.Err, transport.ErrDialedOnce):
			return s.exhausted(reason, f.Err)
		}
		f.Wait = policy.Delay(s.failed)
		s.failed++
		s.tell(f.Wait, s.scrub(f.Err))
		return nil
	})
	if err == nil {
		s.up = time.Now()
		s.tell(0, nil)
	}
	return err
}

// exhausted ends the client.
func (s *restarts) exhausted(reason, last error) error {
	err := reason
	switch n := s.failed; {
	case n > 0 && last == reason:
		err = fmt.Errorf("%w; it did not last after %d restarts in a row (Restart.Attempts)", reason, n)
	case n > 0:
		err = fmt.Errorf("%w; restarted %d times in a row (Restart.Attempts), and at last: %w", reason, n, last)
	}
	s.giveUp(err)
	return err
}

// tell tells Notify, or else the log, that an attempt comes after a wait, or has succeeded.
func (s *restarts) tell(wait time.Duration, because error) {
	switch notify, attempt := s.Notify, s.failed; {
	case notify != nil:
		s.queue(func() { notify(attempt, because) })
	case because == nil:
		s.log.Info("the connection is up again", "attempt", attempt)
	default:
		s.log.Warn("the connection ended: making another", "attempt", attempt, "after", wait, "because", because)
	}
}

// failCalls implements [restartable].
func (l *link) failCalls(err error) {
	l.calls.Close(err)
	l.dispatcher.abandon(nil)
}
