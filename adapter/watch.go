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

// watchedLists are the lists to whose changes a toolset subscribes.
var watchedLists = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}

const (
	// acknowledgeWait bounds the wait for a server's acknowledgement before its tools are listed.
	acknowledgeWait = time.Second

	// maxResubscribe is the longest wait before subscribing again after a server ended a subscription.
	maxResubscribe = 30 * time.Second
)

// listChanged is the announcement of a legacy server that its tools have changed.
const listChanged = "notifications/tools/list_changed"

// watch handles the announcements of a server: it lists the tools again, and reports changes of
// prompts and resources to the host.
type watch struct {
	server     string // the host's label
	opts       *Options
	relist     func(context.Context) error
	notifyHost func(Event)

	joined  chan struct{} // closed when the server has joined the toolset
	wake    chan struct{} // has a token after listChanged
	waiting chan waiter
	ended   atomic.Bool // the subscription was given up; Refresh tries again
}

func newWatch(server string, o *Options, relist func(context.Context) error, notifyHost func(Event)) *watch {
	return &watch{
		server: server, opts: o, relist: relist, notifyHost: notifyHost,
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
			// a subscription to the list reports the change as well: then once is enough
			r.due.tools = r.due.tools || r.sub == nil || !r.sub.Filter().ToolsListChanged
		case a := <-w.waiting:
			r.handleWaiter(ctx, a)
		case <-changes:
			r.handleChanges()
		case <-r.retry:
			r.subscribe(backoff.Unattended(ctx))
			r.recordChange(mcp.Stale)
		case <-r.pause:
			r.pause = nil
		}
		if joined == nil && ctx.Err() == nil { // the end of ctx is not an event
			r.reportDue(ctx)
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
	giveUpErr        error                   // why it gave up; nil after the host got the event

	due   due
	pause <-chan time.Time // ends the interval after reportDue, nil if there is none
}

// due records which lists have changed.
type due struct{ tools, prompts, resources bool }

// handleWaiter subscribes, unless it is subscribed, for a caller who then lists the tools.
func (w *watcher) handleWaiter(ctx context.Context, a waiter) {
	if w.sub == nil && w.retry == nil && !w.nothingAnnounced {
		w.subscribe(ctx)
	}
	select {
	case a.subscribed <- struct{}{}:
	case <-a.ctx.Done():
		w.recordChange(mcp.Stale)
	}
}

// subscribe asks the server to announce changes. A server that agreed before, and cannot be reached now, is asked again
// later.
func (w *watcher) subscribe(ctx context.Context) {
	isRetry := !w.subscribedAt.IsZero()
	w.subscribedAt = time.Now()
	w.retry = nil
	sub, err := w.client.Subscribe(ctx, watchedLists)
	_, announcesNothing := errors.AsType[*mcpclient.CapabilityError](err)
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
			w.recordChange(change.Kind)
			continue
		case err == nil:
			return
		}
		w.unsubscribe()
		if !errors.Is(err, mcpclient.ErrSubscriptionEnded) {
			w.giveUp(err)
			return
		}
		if time.Since(w.subscribedAt) > maxResubscribe {
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
	_, lacking := errors.AsType[*mcpclient.CapabilityError](err)
	_, signIn := errors.AsType[*mcp.SignInError](err)
	return refused || lacking || signIn || errors.Is(err, mcpclient.ErrClosed)
}

// retryLater subscribes again after a wait that grows with the failures in a row.
func (w *watcher) retryLater() {
	policy := backoff.Policy{First: w.opts.RefreshInterval, Max: max(maxResubscribe, w.opts.RefreshInterval)}
	w.retry = time.After(policy.Delay(w.failures))
	w.failures++
}

func (w *watcher) unsubscribe() {
	if w.sub != nil {
		_ = w.sub.Close()
		w.sub = nil
	}
}

// giveUp ends the attempts to subscribe until Refresh asks again. The host gets err as WatchEnded.
func (w *watcher) giveUp(err error) {
	w.giveUpErr = err
	w.ended.Store(true)
}

// recordChange records a change. Stale means every list whose changes the server announces.
func (w *watcher) recordChange(kind mcp.ChangeKind) {
	if w.sub == nil {
		return
	}
	switch kind {
	case mcp.ToolsChanged:
		w.due.tools = true
	case mcp.PromptsChanged:
		w.due.prompts = true
	case mcp.ResourcesChanged:
		w.due.resources = true
	case mcp.Stale:
		granted := w.sub.Filter()
		w.due.tools = w.due.tools || granted.ToolsListChanged
		w.due.prompts = w.due.prompts || granted.PromptsListChanged
		w.due.resources = w.due.resources || granted.ResourcesListChanged
	}
}

// reportDue reports the due changes, lists the tools again if they are due, and then pauses for Options.RefreshInterval.
func (w *watcher) reportDue(ctx context.Context) {
	if err := w.giveUpErr; err != nil {
		w.giveUpErr = nil
		w.opts.Logger.Warn("changes are not announced", "server", w.server, "error", err)
		w.report(ctx, WatchEnded, err)
	}
	if w.pause != nil || w.due == (due{}) {
		return
	}
	now := w.due
	w.due = due{}
	if now.prompts {
		w.report(ctx, PromptsChanged, nil)
	}
	if now.resources {
		w.report(ctx, ResourcesChanged, nil)
	}
	if now.tools {
		if err := w.relist(ctx); err != nil && ctx.Err() == nil {
			w.opts.Logger.Warn("tools not listed again", "server", w.server, "error", err)
			w.report(ctx, ToolsChanged, err)
		}
	}
	w.pause = time.After(w.opts.RefreshInterval)
}

// report reports to the host, which may have removed the server during an earlier report.
func (w *watcher) report(ctx context.Context, kind EventKind, err error) {
	if ctx.Err() == nil {
		w.notifyHost(Event{Server: w.server, Kind: kind, Err: err})
	}
}
