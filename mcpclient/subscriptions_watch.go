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
		err := l.watch(ctx, nil, &callOptions{}, l.sessions)
		if err != nil && !errors.Is(err, errOtherEra) && l.life.IsOpen() {
			l.log.Warn("the server still watches resources", "error", err)
		}
	})
}

// watch asks the server to watch these resources, too, and to stop watching those without a
// subscription. If the server has forgotten the session, or the connection was lost, it tries
// once more in the next one. A modern server watches nothing in this way.
func (l *subscriptions) watch(ctx context.Context, uris []string, o *callOptions, sessions resender) error {
	r := &request{method: "resources/subscribe"} // records why it was sent again
	for resends := 0; ; resends++ {
		var err error
		if r.sentEra, err = sessions.awaitSession(ctx); err != nil {
			return err
		}
		if r.sentEra != nil && r.sentEra.has(listenStreams) {
			return errOtherEra
		}
		if err = l.watchExclusively(ctx, uris, o); err == nil {
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
	requested, err := l.acquireRequested(ctx)
	if err != nil {
		return err
	}
	defer func() { l.requested <- requested }()
	for _, uri := range uris {
		if requested[uri] {
			continue
		}
		requested[uri] = false // it may watch even though the client does not learn of it
		if err := l.watchOne(ctx, "resources/subscribe", uri, o); err != nil {
			if provesUnwatched(err) {
				delete(requested, uri)
			}
			return err
		}
		requested[uri] = true
	}
	wanted := l.wantedResources()
	for _, uri := range slices.Sorted(maps.Keys(requested)) {
		if wanted[uri] {
			continue
		}
		delete(requested, uri)
		if err := l.watchOne(ctx, "resources/unsubscribe", uri, o); err != nil {
			return err
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
	if _, err := l.send(ctx, &request{method: method, target: uri, params: uriParams(uri)}, o); err != nil {
		return fmt.Errorf("resource %q: %w", excerpt.Cut(uri), err)
	}
	return nil
}

// acquireRequested waits until no other goroutine asks the server to watch, and returns the resources that it was asked to watch.
func (l *subscriptions) acquireRequested(ctx context.Context) (map[string]bool, error) {
	l.mu.Lock()
	if l.requested == nil {
		l.requested = make(chan map[string]bool, 1)
		l.requested <- map[string]bool{}
	}
	l.mu.Unlock()
	select {
	case requested := <-l.requested:
		return requested, nil
	case <-ctx.Done():
		return nil, contextError(ctx)
	}
}

// wantedResources returns the resources with a subscription.
func (l *subscriptions) wantedResources() map[string]bool {
	wanted := map[string]bool{}
	for _, s := range l.list() {
		for _, uri := range s.asked.Resources {
			wanted[uri] = true
		}
	}
	return wanted
}

// watchAgain asks a server that has forgotten everything to watch again. A resource that it refuses does not affect the
// others. If the server cannot be asked about a resource now, watchLater asks; if it never can, the subscriptions to the
// resource end. An error means that the session or the connection is lost again, or that ctx has ended.
func (l *subscriptions) watchAgain(ctx context.Context) error {
	requested, err := l.acquireRequested(ctx)
	if err != nil {
		return err
	}
	clear(requested)
	if l.endLater != nil {
		l.endLater() // what still waits in the session before
	}
	later, end := context.WithCancel(backoff.Unattended(renewal.Outlive(ctx)))
	stop := context.AfterFunc(l.life.Context(), end)
	l.endLater = func() { stop(); end() }
	l.requested <- requested
	defer l.publish(mcp.Change{Kind: mcp.Stale})
	asking, cancel := context.WithTimeout(ctx, watchTimeout) // calls wait for the session meanwhile
	defer cancel()
	for _, uri := range slices.Sorted(maps.Keys(l.wantedResources())) {
		err := l.watch(asking, []string{uri}, &callOptions{}, noSessions{})
		switch {
		case endsSession(err) || ctx.Err() != nil && err != nil:
			return err
		case isPassing(err):
			l.life.StartSending(func() { l.watchLater(later, uri, err) })
		default:
			l.settle(uri, err)
		}
	}
	return nil
}

// watchLater asks the server after growing waits to watch a resource, until it answers, nothing subscribes to the
// resource, the server speaks another era, or ctx ends: the next session asks again.
func (l *subscriptions) watchLater(ctx context.Context, uri string, err error) {
	for failures := 0; isPassing(err); failures++ {
		wait := max(relisten.Delay(failures), backoff.Spread(streamable.RetryAfter(err)))
		if backoff.Sleep(ctx, wait) != nil || !l.wantedResources()[uri] {
			return
		}
		asking, cancel := context.WithTimeout(ctx, watchTimeout)
		err = l.watch(asking, []string{uri}, &callOptions{}, l.sessions)
		cancel()
	}
	if endsSession(err) || errors.Is(err, errOtherEra) || ctx.Err() != nil || !l.life.IsOpen() {
		return
	}
	l.settle(uri, err)
	l.publish(mcp.Change{Kind: mcp.ResourceUpdated, URI: uri}) // it may have changed meanwhile
}

// watchTimeout bounds the requests of watchAgain together, and each of watchLater, so that a server that does not answer
// leaves other requests time for their turn.
const watchTimeout = 10 * time.Second

// isPassing reports whether the server could not be asked for a temporary reason, or has not answered.
func isPassing(err error) bool {
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return backoff.IsTransient(status.Status) && status.Status != http.StatusNotImplemented
	}
	return wraps[*transport.BrokenError](err) || errors.Is(err, context.DeadlineExceeded)
}

// endsSession reports whether err says that the session or the connection is lost, or another user's.
func endsSession(err error) bool {
	_, forgot := lostSessionID(err)
	return forgot || wraps[*wire.OwnerError](err) || errors.Is(err, ErrClosed) || errors.Is(err, ErrConnectionLost)
}

// settle handles the outcome of asking to watch a resource again: subscriptions to a resource that the server may not watch end.
func (l *subscriptions) settle(uri string, err error) {
	switch {
	case err == nil:
		return
	case wraps[*mcp.RPCError](err):
		l.log.Warn("the server does not watch a resource any more", "error", err)
		return
	}
	for _, s := range l.list() {
		if slices.Contains(s.asked.Resources, uri) {
			s.end(fmt.Errorf("%w: in a new session: %w", ErrSubscriptionEnded, err))
			s.cancel()
		}
	}
}
