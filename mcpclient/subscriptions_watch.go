package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/renewal"
	"github.com/mcpchain/mcpchain/mcpclient/internal/streamable"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// watchFor asks a legacy server to watch the resources. Lists are watched without a request.
func (l *subscriptions) watchFor(ctx context.Context, s *Subscription, o *callOptions) error {
	s.unwatch = func() { l.unwatch(s) }
	if err := l.watch(ctx, s.asked.Resources, o, l.sessions); err != nil {
		return err
	}
	s.setGranted(s.asked)
	if !l.life.Start(func() { s.endWithClient(l.life) }) {
		return ErrClosed
	}
	return nil
}

func (s *Subscription) endWithClient(life *lifecycle.Lifecycle) {
	select {
	case <-s.ctx.Done():
	case <-life.Context().Done():
		s.end(life.Cause())
	}
}

func (l *subscriptions) unwatch(s *Subscription) {
	if len(s.asked.Resources) == 0 {
		return
	}
	l.life.StartSending(func() {
		ctx, cancel := context.WithTimeout(backoff.Unattended(context.WithoutCancel(s.ctx)), lifecycle.SendTimeout)
		defer cancel()
		defer context.AfterFunc(l.life.Context(), cancel)()
		if err := l.watch(ctx, nil, &callOptions{}, l.sessions); err != nil && l.life.IsOpen() {
			l.log.Warn("the server still watches resources", "error", err)
		}
	})
}

// watch asks the server to watch these resources, too, and to stop watching those without a
// subscription. If the server has forgotten the session, or the connection was lost, it tries
// once more in the next one.
func (l *subscriptions) watch(ctx context.Context, uris []string, o *callOptions, sessions resender) error {
	r := &request{method: "resources/subscribe"} // records why it was sent again
	for resends := 0; ; resends++ {
		var err error
		if r.sentEra, err = sessions.awaitSession(ctx); err != nil {
			return err
		}
		err = l.watchExclusively(ctx, uris, o)
		if err == nil {
			return nil
		}
		if again, err := sessions.resend(ctx, r, err, resends); !again {
			return err
		}
	}
}

// watchExclusively does the work of watch with exclusive access to the server, so that the last
// request is the one that counts.
func (l *subscriptions) watchExclusively(ctx context.Context, uris []string, o *callOptions) error {
	release, err := l.acquireTurn(ctx)
	if err != nil {
		return err
	}
	defer release()
	requested, wanted := l.watchedResources()
	for _, uri := range uris {
		if requested[uri] {
			continue
		}
		l.setRequested(uri, false) // it may watch even though the client does not learn of it
		if err := l.watchOne(ctx, "resources/subscribe", uri, o); err != nil {
			if provesUnwatched(err) {
				l.deleteRequested(uri)
			}
			return fmt.Errorf("resource %q: %w", excerpt.Cut(uri), err)
		}
		l.setRequested(uri, true)
	}
	for _, uri := range slices.Sorted(maps.Keys(requested)) {
		if wanted[uri] {
			continue
		}
		l.deleteRequested(uri)
		if err := l.watchOne(ctx, "resources/unsubscribe", uri, o); err != nil {
			return fmt.Errorf("resource %q: %w", excerpt.Cut(uri), err)
		}
	}
	return nil
}

// provesUnwatched reports whether err proves that a server does not watch a resource: it refused,
// never got the request or forgot.
func provesUnwatched(err error) bool {
	_, forgot := lostSessionID(err)
	return wraps[*mcp.RPCError](err) || wraps[*unsentError](err) || forgot || errors.Is(err, ErrConnectionLost)
}

func (l *subscriptions) watchOne(ctx context.Context, method, uri string, o *callOptions) error {
	_, err := l.send(ctx, &request{method: method, target: uri, params: uriParams(uri)}, o)
	return err
}

// watchAgain asks a server that has forgotten everything to watch again. A resource that it refuses does not affect the
// others. If the server cannot be asked about a resource now, watchLater asks; if it never can, the subscriptions to the
// resource end. An error means that the session or the connection is lost again, or that ctx has ended.
func (l *subscriptions) watchAgain(ctx context.Context) error {
	release, err := l.acquireTurn(ctx)
	if err != nil {
		return err
	}
	_, wanted := l.watchedResources()
	later := l.forget(ctx)
	release()
	defer l.publish(mcp.Change{Kind: mcp.Stale})
	asking, cancel := context.WithTimeout(ctx, watchTimeout) // calls wait for the session meanwhile
	defer cancel()
	for _, uri := range slices.Sorted(maps.Keys(wanted)) {
		err := l.watch(asking, []string{uri}, &callOptions{}, noSessions{})
		switch {
		case endsSession(err) || ctx.Err() != nil && err != nil:
			return err
		case isPassing(err):
			l.life.StartSending(func() { l.watchLater(later, uri, err) })
		default:
			l.watched(uri, err)
		}
	}
	return nil
}

// forget records that the server watches nothing. It returns the context of watchLater, which has the values of ctx, and ends
// when the server forgets again or the client is closed.
func (l *subscriptions) forget(ctx context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requested = nil
	if l.endLater != nil {
		l.endLater()
	}
	later, end := context.WithCancel(backoff.Unattended(renewal.Outlive(ctx)))
	stop := context.AfterFunc(l.life.Context(), end)
	l.endLater = func() { stop(); end() }
	return later
}

// watchLater asks the server after growing waits to watch a resource, until it answers, nothing subscribes to the
// resource, or the session ends: the next one asks again.
func (l *subscriptions) watchLater(ctx context.Context, uri string, err error) {
	for failures := 0; isPassing(err); failures++ {
		wait := max(relisten.Delay(failures), backoff.Spread(streamable.RetryAfter(err)))
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
		if _, wanted := l.watchedResources(); !wanted[uri] {
			return
		}
		err = l.watchWithin(ctx, uri)
	}
	if endsSession(err) || ctx.Err() != nil || !l.life.IsOpen() {
		return
	}
	l.watched(uri, err)
	l.publish(mcp.Change{Kind: mcp.ResourceUpdated, URI: uri}) // it may have changed meanwhile
}

// watchTimeout bounds the requests of watchAgain together, and each of watchLater, so that a server that does not answer
// leaves other requests time for their turn.
const watchTimeout = 10 * time.Second

func (l *subscriptions) watchWithin(ctx context.Context, uri string) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	return l.watch(ctx, []string{uri}, &callOptions{}, l.sessions)
}

// isPassing reports whether the server could not be asked for a temporary reason, or has not answered.
func isPassing(err error) bool {
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return backoff.IsTransient(status.Status) && status.Status != http.StatusNotImplemented
	}
	return wraps[*transport.BrokenError](err) || errors.Is(err, context.DeadlineExceeded)
}

// watched handles the outcome of asking to watch a resource again.
func (l *subscriptions) watched(uri string, err error) {
	switch {
	case err == nil:
	case wraps[*mcp.RPCError](err):
		l.log.Warn("the server does not watch a resource any more", "error", err)
	default:
		l.endWatching(uri, err)
	}
}

// endsSession reports whether err says that the session or the connection is lost, or another user's.
func endsSession(err error) bool {
	_, forgot := lostSessionID(err)
	return forgot || wraps[*wire.OwnerError](err) || errors.Is(err, ErrClosed) || errors.Is(err, ErrConnectionLost)
}

// endWatching ends the subscriptions to a resource that the server may not watch.
func (l *subscriptions) endWatching(uri string, err error) {
	for _, s := range l.list() {
		if slices.Contains(s.asked.Resources, uri) {
			s.end(fmt.Errorf("%w: in a new session: %w", ErrSubscriptionEnded, err))
			s.cancel()
		}
	}
}

func (l *subscriptions) acquireTurn(ctx context.Context) (release func(), err error) {
	l.mu.Lock()
	if l.turn == nil {
		l.turn = make(chan struct{}, 1)
	}
	turn := l.turn
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, contextError(ctx)
	}
}

// watchedResources returns the resources that the server was asked to watch (true: it has agreed),
// and those with a subscription.
func (l *subscriptions) watchedResources() (requested, wanted map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted = map[string]bool{}
	for _, s := range l.all {
		for _, uri := range s.asked.Resources {
			wanted[uri] = true
		}
	}
	return maps.Clone(l.requested), wanted
}

func (l *subscriptions) setRequested(uri string, agreed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requested == nil {
		l.requested = map[string]bool{}
	}
	l.requested[uri] = agreed
}

func (l *subscriptions) deleteRequested(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.requested, uri)
}
