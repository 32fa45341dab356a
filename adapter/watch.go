package adapter

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// watchedLists are the lists to whose changes a toolset subscribes: to those of prompts and resources for the cache
// of the client.
var watchedLists = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}

const (
	// acknowledgeWait bounds the wait for a server's acknowledgement before its tools are listed.
	acknowledgeWait = time.Second

	// refreshInterval is the shortest time between two listings because of announcements, and the first wait before
	// subscribing again.
	refreshInterval = time.Second

	// maxResubscribe is the longest wait before subscribing again after a server ended a subscription.
	maxResubscribe = 30 * time.Second
)

// listChanged is the announcement of a legacy server that its tools have changed.
const listChanged = "notifications/tools/list_changed"

// watch lists the tools of a server again when the server announces a change.
type watch struct {
	server string // the host's label
	opts   *Options
	relist func(context.Context) error

	joined  chan struct{} // closed when the server has joined the toolset
	wake    chan struct{} // has a token after listChanged
	waiting chan waiter
	ended   atomic.Bool // the subscription was given up; Refresh tries again
}

func newWatch(server string, o *Options, relist func(context.Context) error) *watch {
	return &watch{
		server: server, opts: o, relist: relist,
		joined: make(chan struct{}), wake: make(chan struct{}, 1), waiting: make(chan waiter, 1),
	}
}

// waiter is a caller that lists the tools once the server has acknowledged the subscription, or when ctx ends.
type waiter struct {
	ctx        context.Context
	subscribed chan struct{}
}

// awaitSubscription waits until the server acknowledges the subscription, for acknowledgeWait at
// most. After a later acknowledgement everything counts as changed.
func (w *watch) awaitSubscription(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, acknowledgeWait)
	defer cancel()
	caller := waiter{ctx, make(chan struct{})}
	select {
	case w.waiting <- caller:
	default: // another caller waits
		return
	}
	select {
	case <-caller.subscribed:
	case <-ctx.Done():
	}
}

// notify handles a notification of the server without blocking. Legacy servers may announce
// changes that they do not declare.
func (w *watch) notify(n *mcp.Notification) {
	if n.Method != listChanged {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run watches the server until ctx ends.
func (w *watch) run(ctx context.Context, client *mcpclient.Client) {
	r := watcher{watch: w, client: client}
	defer r.unsubscribe()
	joined := w.joined
	for {
		var changes <-chan struct{}
		if r.sub != nil {
			changes = r.sub.Wake()
		}
		select {
		case <-ctx.Done():
			return
		case <-joined:
			joined = nil
		case <-w.wake:
			r.due = r.due || !r.announcesTools() // a subscription reports the change as well: then once is enough
		case a := <-w.waiting:
			r.handleWaiter(ctx, a)
		case <-changes:
			r.handleChanges()
		case <-r.retry:
			r.subscribe(backoff.Unattended(ctx))
			r.due = r.due || r.announcesTools() // something may have been missed
		case <-r.pause:
			r.pause = nil
		}
		if joined == nil && r.due && r.pause == nil && ctx.Err() == nil {
			r.listAgain(ctx)
		}
	}
}

// watcher is the goroutine of a watch and its state.
type watcher struct {
	*watch
	client *mcpclient.Client

	sub              *mcpclient.Subscription // nil if there is none
	nothingAnnounced bool                    // the server announces nothing
	wasSubscribed    bool                    // the server has agreed once
	subscribedAt     time.Time               // when the last subscription began
	failures         int                     // consecutive subscriptions that failed or ended early
	retry            <-chan time.Time        // when to subscribe again, nil for never

	due   bool             // the tools may have changed
	pause <-chan time.Time // ends the interval after listAgain, nil if there is none
}

// handleWaiter subscribes, unless it is subscribed, for a caller who then lists the tools.
func (w *watcher) handleWaiter(ctx context.Context, a waiter) {
	if w.sub == nil && w.retry == nil && !w.nothingAnnounced {
		w.subscribe(ctx)
	}
	select {
	case a.subscribed <- struct{}{}:
	case <-a.ctx.Done():
		w.due = w.due || w.announcesTools()
	}
}

// announcesTools reports whether there is a subscription to the list of tools.
func (w *watcher) announcesTools() bool { return w.sub != nil && w.sub.Filter().ToolsListChanged }

// subscribe asks the server to announce changes. A server that agreed before, and cannot be reached now, is asked again
// later.
func (w *watcher) subscribe(ctx context.Context) {
	isRetry := !w.subscribedAt.IsZero()
	w.subscribedAt = time.Now()
	w.retry = nil
	sub, err := w.client.Subscribe(ctx, watchedLists)
	announcesNothing := errors.Is(err, mcpclient.ErrUndeclared)
	switch {
	case ctx.Err() != nil:
		if sub != nil {
			_ = sub.Close()
		}
	case err == nil:
		w.sub = sub
		w.wasSubscribed = true
		w.ended.Store(false)
	case announcesNothing && !isRetry:
		w.nothingAnnounced = true
	case w.wasSubscribed && !isFinal(err):
		w.opts.Logger.Debug("could not subscribe again", "server", w.server, "error", err)
		w.retryLater()
	default:
		w.giveUp(err)
	}
}

// handleChanges records the announced changes. If the server ended the subscription, it
// subscribes again after growing waits; the client itself repairs broken streams.
func (w *watcher) handleChanges() {
	for {
		change, ok, err := w.sub.Next()
		switch {
		case ok:
			w.due = w.due || change.Kind == mcp.ToolsChanged || change.Kind == mcp.Stale && w.announcesTools()
			continue
		case err == nil:
			return
		}
		w.unsubscribe()
		if !errors.Is(err, mcpclient.ErrSubscriptionEnded) {
			w.giveUp(err)
			return
		}
		if time.Since(w.subscribedAt) > maxResubscribe { // it has worked
			w.failures = 0
		}
		w.retryLater()
		return
	}
}

// isFinal reports whether err, of an attempt to subscribe, will be the same the next time: the
// server answered, a person has to sign in, or the client is closed.
func isFinal(err error) bool {
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return !backoff.IsTransient(status.Status)
	}
	_, refused := errors.AsType[*mcp.RPCError](err)
	_, signIn := errors.AsType[*mcp.SignInError](err)
	return refused || signIn || errors.Is(err, mcpclient.ErrUndeclared) || errors.Is(err, mcpclient.ErrClosed)
}

// retryLater subscribes again after a wait that grows with the failures in a row.
func (w *watcher) retryLater() {
	policy := backoff.Policy{First: refreshInterval, Max: maxResubscribe}
	w.retry = time.After(policy.Delay(w.failures))
	w.failures++
}

func (w *watcher) unsubscribe() {
	if w.sub != nil {
		_ = w.sub.Close()
		w.sub = nil
	}
}

// giveUp ends the attempts to subscribe until Refresh asks again.
func (w *watcher) giveUp(err error) {
	w.ended.Store(true)
	w.opts.Logger.Warn("changes are not announced", "server", w.server, "error", err)
}

// listAgain lists the tools again, and then pauses for refreshInterval.
func (w *watcher) listAgain(ctx context.Context) {
	w.due = false
	if err := w.relist(ctx); err != nil && ctx.Err() == nil {
		w.opts.Logger.Warn("tools not listed again", "server", w.server, "error", err)
	}
	w.pause = time.After(refreshInterval)
}
