package oauth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/bound"
)

// renewal is the purpose of an attempt to get a token.
type renewal struct {
	demand     *demand
	previous   *session // the session to replace; nil for none
	acquire    bool     // a refresh is not enough
	stepUp     bool     // more scopes are needed
	unprompted bool     // the server has not asked for it
	unattended bool     // nobody waits: never ask a person

	stored string // the access token in the store, known once that was read
}

// key is equal for renewals that share the failure of an attempt.
func (r *renewal) key() string {
	return fmt.Sprint(r.acquire, r.stepUp, r.unattended, r.previous != nil, strings.Join(r.demand.scopes, " "))
}

// renew returns a session other than r.previous: the current one, or the result of the running attempt or of a new one.
// An attempt of another kind of renewal may fail; then renew starts its own.
func (t *Transport) renew(ctx context.Context, r *renewal) (*session, error) {
	r.unattended = backoff.IsUnattended(ctx)
	for {
		f, s, err := t.sessions.join(r, func() *flight { return t.start(ctx, r) })
		if f == nil {
			return s, err
		}
		resume := bound.From(ctx).Hold() // a person may sign in
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		resume()
		t.sessions.leave(f)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for a token for %s: %w", t.name, err)
		}
		if f.err != nil && f.key == r.key() {
			return nil, f.err
		}
		if f.err == nil && (!r.stepUp || f.result.token.wasAskedFor(r.demand.scopes)) {
			return f.result, nil
		}
	}
}

// start starts a flight. Its context has the values of the first caller's context, but not its cancellation.
func (t *Transport) start(ctx context.Context, r *renewal) *flight {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout+4*requestTimeout)
	stop := context.AfterFunc(t.ctx, cancel)
	f := &flight{key: r.key(), cancel: cancel, done: make(chan struct{})}
	t.sessions.running.Go(func() {
		defer cancel()
		defer stop()
		var s *session
		err := errors.New("the goroutine of Options.Grant or Options.Store ended (runtime.Goexit)")
		defer func() { t.sessions.finish(f, s, err) }()
		s, err = t.obtainGuarded(ctx, r)
		if err != nil && t.ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errClosed, err)
		}
	})
	return f
}

// obtainGuarded is [Transport.obtain]. A panic of the host's grant or store is an error, and logged with its stack.
func (t *Transport) obtainGuarded(ctx context.Context, r *renewal) (s *session, err error) {
	err = bound.Run("Options.Grant or Options.Store", func() (err error) {
		s, err = t.obtain(ctx, r)
		return err
	})
	if p, panicked := errors.AsType[*bound.PanicError](err); panicked {
		t.log.Error(p.Error(), "stack", string(p.Stack))
	}
	return s, err
}

// currentSession returns the session for a request, nil if there is none. A token near its end is
// renewed: in the background if it is still valid, else before the request.
func (t *Transport) currentSession(ctx context.Context) (*session, error) {
	if err := t.loadOnce(ctx); err != nil {
		return nil, err
	}
	s := t.sessions.get()
	if s == nil || s.token.Refresh == "" && t.flow.interactive() { // only a person can renew it
		return s, nil
	}
	now := time.Now()
	r := &renewal{demand: &demand{}, previous: s, unprompted: true}
	switch {
	case s.token.isExpired(now, s.token.lastMargin()):
		return t.renew(ctx, r)
	case s.token.isExpired(now, s.token.earlyMargin()):
		t.sessions.renewInBackground(r, func() *flight { return t.start(ctx, r) })
	}
	return s, nil
}

// loadOnce reads the stored session, once. It tries again after an error.
func (t *Transport) loadOnce(ctx context.Context) error {
	select {
	case t.loading <- struct{}{}:
		defer func() { <-t.loading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if t.sessions.isLoaded() {
		return nil
	}
	s, err := t.restore(ctx)
	if err != nil {
		return err
	}
	t.sessions.load(s)
	return nil
}
