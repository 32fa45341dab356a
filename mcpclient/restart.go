package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Restart has a client go on when its connection ends by itself, as it does when
// the process of a [Command] dies: the transport is dialed again, after a wait
// that grows. It is for transports with one connection that can be dialed more
// than once, which [Command] and [SSE] are; [HTTP] has nothing that could end,
// and [IO] and [Pipe] cannot be dialed again. The zero value is valid.
//
// Calls under way end at once with [ErrConnectionLost] and the reason. Those that
// do the same when they are made twice (lists, reads, [Client.Ping], …) are made
// once more on the next connection; a tool call never is. Later calls wait for
// that connection for as long as their contexts allow. It is spoken to as the one
// before, unless the server refuses that: then it is asked anew what it is. The
// log level and the resources that are watched are told again, what was cached is
// forgotten, and subscriptions get [Stale].
//
// When all attempts are used up the client has ended: [Client.Err] says why. The
// first connection is not tried again: Connect fails.
type Restart struct {
	// Attempts bounds the attempts in a row. One counts until a connection has
	// held for Reset, also when it succeeds: a server that dies after each start
	// is given up. Default 5, at most 1,000.
	Attempts int

	// First and Longest are the waits before the first attempt and before all of
	// them: the wait doubles from attempt to attempt. Default 500 ms and 30 s,
	// at most 1 h.
	First, Longest time.Duration

	// Jitter is the share of a wait that is left to chance, so that clients that
	// lost a server together do not come back together. Default 0.5, at most 1;
	// negative: none.
	Jitter float64

	// Reset is how long a connection must hold for the attempts before it to be
	// forgotten. Default 1 min.
	Reset time.Duration

	// Notify, when set, is told before each attempt and after the one that
	// succeeds, in turn with Options.OnNotification and from the same goroutine.
	// What is told waits where notifications do: when more than
	// Options.Limits.Notifications have come since, because an observer is slow, it is
	// dropped like the oldest of them.
	Notify func(RestartEvent)
}

// RestartEvent tells how far a [Restart] is.
type RestartEvent struct {
	Up      bool          // calls go on
	Attempt int           // in a row, counted from 1
	Wait    time.Duration // before the attempt; zero when Up
	Err     error         // why it takes the attempt; nil when Up
}

// restartTimeout bounds one attempt, the handshake included.
const restartTimeout = time.Minute

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
	out.Reset = cmp.Or(max(out.Reset, 0), time.Minute)
	if out.Jitter == 0 {
		out.Jitter = 0.5
	}
	return &out
}

// restarts is what a client remembers of its connections. It is used by Connect,
// and then by the renewal that is under way.
type restarts struct {
	up     time.Time // when the last connection was ready
	failed int       // attempts in a row
}

// unsentError is why a request was not even begun to be sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// lost is called by a link whose connection ended by itself. It returns the
// error of the calls that wait on it.
func (c *Client) lost(l *link, err error) error {
	if c.ready.Load() && c.link.Load() == l {
		if lost := c.restarting(l, err); lost != nil {
			return lost
		}
		c.life.fail(closedBy(err), c.disconnect)
	}
	return closedBy(err)
}

// refused is the error of a message that the connection did not take because it is
// ending, nil while it is not. It may bring answers for a while.
func (c *Client) refused(l *link) error {
	conn, ok := transport.As[transport.Ender](l.conn)
	if !ok {
		return nil
	}
	reason := hungUp(conn.Err())
	if reason == nil {
		return nil
	}
	if c.ready.Load() && c.link.Load() == l && !errors.Is(reason, ErrClosed) {
		if lost := c.restarting(l, reason); lost != nil {
			return lost
		}
	}
	return closedBy(reason)
}

// restarting begins a restart, unless one is under way, and returns the error that
// the calls on l then end with. It is nil when none is wanted.
func (c *Client) restarting(l *link, err error) (lost error) {
	if c.opts.Restart == nil {
		return nil
	}
	lost = fmt.Errorf("%w: %w", ErrConnectionLost, err)
	s := &c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renewal.Load() != nil || c.beginLocked(func(ctx context.Context) error {
		select {
		case <-l.over(): // before that it may bring answers
		case <-ctx.Done():
			return ctx.Err()
		}
		l.calls.Close(lost) // before that is done as for a connection that we end
		l.abandon(nil)
		return c.restart(ctx)
	}) != nil {
		return lost
	}
	return nil
}

// restart makes a new connection in the place of one that ended.
func (c *Client) restart(ctx context.Context) error {
	o, state, old := c.opts.Restart, c.restarts, c.link.Load()
	reason := old.dead()
	_ = old.end()
	if time.Since(state.up) >= o.Reset {
		state.failed = 0
	}
	policy := backoff.Policy{First: o.First, Max: o.Longest, Jitter: o.Jitter}
	lost := reason // what the loop begins with
	err := backoff.Loop(ctx, policy, func() error {
		if err := lost; err != nil {
			lost = nil
			return err
		}
		return c.reopen(ctx)
	}, func(f *backoff.Failure) error {
		switch {
		case ctx.Err() != nil:
			return f.Err
		case state.failed >= o.Attempts || errors.Is(f.Err, transport.ErrDialedOnce):
			return c.giveUp(reason, f.Err)
		}
		f.Wait = policy.Delay(state.failed)
		state.failed++
		c.restartEvent(RestartEvent{Attempt: state.failed, Wait: f.Wait, Err: c.scrubbed(f.Err)})
		return nil
	})
	if err == nil {
		state.up = time.Now()
		c.restartEvent(RestartEvent{Up: true, Attempt: state.failed})
	}
	return err
}

func (c *Client) giveUp(reason, last error) error {
	err := reason
	switch n := c.restarts.failed; {
	case n > 0 && last == reason:
		err = fmt.Errorf("%w; it did not last after %d restarts in a row (Restart.Attempts)", reason, n)
	case n > 0:
		err = fmt.Errorf("%w; restarted %d times in a row (Restart.Attempts), the last of which: %w", reason, n, last)
	}
	c.life.fail(c.scrubbed(err), c.disconnect)
	return err
}

// reopen makes one attempt.
func (c *Client) reopen(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, restartTimeout, fmt.Errorf("not ready within %v", restartTimeout))
	defer cancel()
	defer func() {
		if err == nil {
			err = ctx.Err() // Close may not have seen the new connection
		}
		if err != nil {
			l := c.link.Load()
			if ctx.Err() != nil {
				err = l.explain(err)
			}
			_ = l.end()
		}
	}()
	modern := c.isModern()
	if err := c.reach(ctx); err != nil {
		return err
	}
	if c.isModern() != modern {
		c.subscriptions.endAll(errOtherEra)
	}
	return c.restore(ctx)
}

func (c *Client) restartEvent(e RestartEvent) {
	if e.Up {
		c.log.Info("the connection is up again", "attempt", e.Attempt)
	} else {
		c.log.Warn("the connection ended: making another", "attempt", e.Attempt, "after", e.Wait, "because", e.Err)
	}
	if notify := c.opts.Restart.Notify; notify != nil {
		c.callbacks.add(callback{run: func() { notify(e) }})
	}
}

// reconnected waits for the next connection after a request has failed with err,
// and reports whether to send it again. Where the request is part of making that
// connection there is nothing to wait for.
func (c *Client) reconnected(ctx context.Context, r *request, err error) (again bool, _ error) {
	_, unsent := errors.AsType[*unsentError](err)
	if ctx.Value(renewing{&c.session}) != nil || !unsent && (!repeatable(r.method) || r.resent) {
		return false, err
	}
	if err := c.session.settle(ctx); err != nil {
		return false, err
	}
	if !c.life.isOpen() {
		return false, c.life.cause()
	}
	r.resent = r.resent || !unsent
	return true, nil
}
