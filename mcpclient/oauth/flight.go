package oauth

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/idle"
)

// linger is how long an attempt to get a token continues without a waiting
// caller. A cancelled call may be repeated meanwhile.
const linger = 30 * time.Second

// renewal is the purpose of an attempt to get a token.
type renewal struct {
	demand *demand
	used   *session // the refused session; nil for none
	anew   bool     // a refresh is not enough
	stepUp bool     // more scopes are needed
	early  bool     // the server has not asked for it
	quiet  bool     // nobody waits: never ask a person
}

// key is equal for renewals that may share one attempt and its failure.
func (r *renewal) key() string {
	return fmt.Sprint(r.anew, r.stepUp, r.quiet, r.used != nil, strings.Join(r.demand.scopes, " "))
}

// flight is an attempt that all callers without a token share.
type flight struct {
	key    string
	cancel context.CancelFunc
	done   chan struct{} // closed at the end; then the result may be read

	session *session
	err     error

	waiters   int         // guarded by the transport's mu
	lonely    *time.Timer // ends the flight; guarded likewise
	signedOut bool        // it ends because of a SignOut; guarded likewise
}

// renew returns another session than r.used: the current session, or the result
// of the running attempt, or of a new one.
func (t *Transport) renew(ctx context.Context, r *renewal) (*session, error) {
	r.quiet = backoff.IsUnattended(ctx)
	for {
		f, s, err := t.join(ctx, r)
		if f == nil {
			return s, err
		}
		resume := idle.From(ctx).Hold() // a person may sign in
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		resume()
		t.leave(f)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for a token for %s: %w", t.shown, err)
		}
		if f.err != nil && f.key == r.key() {
			return nil, f.err
		}
		if f.err == nil && (!r.stepUp || covers(union(f.session.token.Granted, f.session.token.Requested), r.demand.scopes)) {
			return f.session, nil
		}
	}
}

// join finds a session for a renewal, or a flight to wait for.
func (t *Transport) join(ctx context.Context, r *renewal) (*flight, *session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, nil, errClosed
	case t.current != nil && differs(t.current, r.used) && (!r.stepUp || covers(t.current.token.Granted, r.demand.scopes)):
		return nil, t.current, nil
	}
	if t.flight == nil {
		t.startLocked(ctx, r)
	}
	f := t.flight
	f.waiters++
	if f.lonely != nil {
		f.lonely.Stop()
		f.lonely = nil
	}
	return f, nil, nil
}

// differs reports whether a session has another token than the used one.
func differs(s, used *session) bool {
	return used == nil || s != used && s.token.Access != used.token.Access
}

func (t *Transport) leave(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.waiters--; f.waiters == 0 && t.flight == f {
		f.lonely = time.AfterFunc(linger, f.cancel)
	}
}

// startLocked begins a flight. Its context has the values of the first caller's
// context, but not its cancellation.
func (t *Transport) startLocked(ctx context.Context, r *renewal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.opts.SignInTimeout+4*requestTimeout)
	stop := context.AfterFunc(t.ctx, cancel)
	f := &flight{key: r.key(), cancel: cancel, done: make(chan struct{})}
	t.flight = f
	t.wg.Go(func() {
		defer cancel()
		defer stop()
		s, err := t.obtain(ctx, r)
		if err != nil && t.ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errClosed, err)
		}
		t.land(f, s, err)
	})
}

func (t *Transport) land(f *flight, s *session, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.lonely != nil {
		f.lonely.Stop()
	}
	switch {
	case err == nil:
		t.current = s
	case f.signedOut:
		err = fmt.Errorf("signed out of %s: %w", t.shown, err)
	}
	f.session, f.err, t.flight = s, err, nil
	close(f.done)
}

// clear forgets the session once the running attempt has ended, and keeps new ones from beginning until release:
// those who want a token wait for a flight that brings none, and then begin one of their own.
func (t *Transport) clear(ctx context.Context) (release func(), err error) {
	for {
		t.mu.Lock()
		running := t.flight
		if running == nil {
			f := &flight{key: "sign-out", cancel: func() {}, done: make(chan struct{})}
			t.flight, t.current, t.loaded = f, nil, true
			t.mu.Unlock()
			return func() { t.land(f, nil, errSignedOut) }, nil
		}
		running.signedOut = true
		t.mu.Unlock()
		running.cancel()
		select {
		case <-running.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("sign out of %s: %w", t.shown, ctx.Err())
		}
	}
}

// now is the current session.
func (t *Transport) now() *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// ready returns the session for a request, nil if there is none. A token near
// its end is renewed: in the background if it is still valid, else before the
// request.
func (t *Transport) ready(ctx context.Context) (*session, error) {
	if err := t.loadOnce(ctx); err != nil {
		return nil, err
	}
	s := t.now()
	if s == nil || !t.renewable(s) {
		return s, nil
	}
	now := time.Now()
	r := &renewal{demand: &demand{}, used: s, early: true}
	switch {
	case s.token.expired(now, s.token.last()):
		next, err := t.renew(ctx, r)
		return next, err
	case s.token.expired(now, s.token.early()):
		t.renewMeanwhile(ctx, r)
	}
	return s, nil
}

// renewable reports whether a token can be renewed without a person.
func (t *Transport) renewable(s *session) bool {
	return s.token.Refresh != "" || !t.flow.interactive()
}

// renewMeanwhile starts a renewal in the background. If it fails, the token
// stays in use, and the renewal is retried after a pause.
func (t *Transport) renewMeanwhile(ctx context.Context, r *renewal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.closed || t.flight != nil || t.current != r.used || now.Before(r.used.notBefore) {
		return
	}
	paused := *r.used
	paused.notBefore = now.Add(renewalPause)
	t.current = &paused
	r.used, r.quiet = &paused, true
	t.startLocked(ctx, r)
}

// loadOnce reads the store, once.
func (t *Transport) loadOnce(ctx context.Context) error {
	select {
	case t.loading <- struct{}{}:
		defer func() { <-t.loading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	loaded := t.loaded
	t.mu.Unlock()
	if loaded {
		return nil
	}
	s, err := t.restore(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded = true; t.current == nil {
		t.current = s
	}
	return nil
}
