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

	// maxResubscribe is the longest wait before subscribing again after a server ended a
	// subscription.
	maxResubscribe = 30 * time.Second
)

// listChanged is the announcement of a legacy server that its tools have changed.
const listChanged = "notifications/tools/list_changed"

// watch handles the announcements of a server: it lists the tools again, and reports changes of
// prompts and resources to the host.
type watch struct {
	server string // the host's label
	opts   *Options
	relist func(context.Context) error
	tell   func(Event)

	offered chan struct{} // closed when the server has joined the toolset
	wake    chan struct{} // has a token after listChanged
	waiting chan waiter
	ended   atomic.Bool // the subscription was given up; Refresh tries again
}

func newWatch(server string, o *Options, relist func(context.Context) error, tell func(Event)) *watch {
	return &watch{
		server: server, opts: o, relist: relist, tell: tell,
		offered: make(chan struct{}), wake: make(chan struct{}, 1), waiting: make(chan waiter, 1),
	}
}

// waiter is a caller that lists the tools once the server has acknowledged the subscription, or
// when ctx ends.
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
	f := watcher{watch: w, client: client}
	defer f.unsubscribe()
	offered := w.offered
	for {
		var changes <-chan struct{}
		if f.sub != nil {
			changes = f.sub.Wake()
		}
		select {
		case <-ctx.Done():
			return
		case <-offered:
			offered = nil
		case <-w.wake:
			// a subscription to the list reports the change as well: then once is enough
			f.due.tools = f.due.tools || f.sub == nil || !f.sub.Filter().ToolsListChanged
		case a := <-w.waiting:
			f.handleWaiter(ctx, a)
		case <-changes:
			f.handleChanges()
		case <-f.retry:
			f.subscribe(backoff.Unattended(ctx))
			f.recordChange(mcp.Stale)
		case <-f.pause:
			f.pause = nil
		}
		if offered == nil && ctx.Err() == nil { // the end of ctx is not an event
			f.reportDue(ctx)
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
func (f *watcher) handleWaiter(ctx context.Context, a waiter) {
	if f.sub == nil && f.retry == nil && !f.nothingAnnounced {
		f.subscribe(ctx)
	}
	select {
	case a.subscribed <- struct{}{}:
	case <-a.ctx.Done():
		f.recordChange(mcp.Stale)
	}
}

// subscribe asks the server to announce changes. If it is only not there, although it has agreed
// before, it is asked again later.
func (f *watcher) subscribe(ctx context.Context) {
	isRetry := !f.subscribedAt.IsZero()
	f.subscribedAt = time.Now()
	f.retry = nil
	sub, err := f.client.Subscribe(ctx, watchedLists)
	_, announcesNothing := errors.AsType[*mcpclient.CapabilityError](err)
	switch {
	case ctx.Err() != nil:
		if sub != nil {
			_ = sub.Close()
		}
	case err == nil:
		f.sub = sub
		f.wasSubscribed = true
		f.ended.Store(false)
	case announcesNothing && !isRetry:
		f.nothingAnnounced = true
	case f.wasSubscribed && !isFinal(err):
		f.opts.Logger.Debug("could not subscribe again", "server", f.server, "error", err)
		f.retryLater()
	default:
		f.giveUp(err)
	}
}

// handleChanges records the announced changes. If the server ended the subscription, it
// subscribes again after growing waits; the client itself repairs broken streams.
func (f *watcher) handleChanges() {
	for {
		change, ok, err := f.sub.Next()
		switch {
		case ok:
			f.recordChange(change.Kind)
			continue
		case err == nil:
			return
		}
		f.unsubscribe()
		if !errors.Is(err, mcpclient.ErrSubscriptionEnded) {
			f.giveUp(err)
			return
		}
		if time.Since(f.subscribedAt) > maxResubscribe {
			f.failures = 0
		}
		f.retryLater()
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
func (f *watcher) retryLater() {
	policy := backoff.Policy{First: f.opts.RefreshInterval, Max: max(maxResubscribe, f.opts.RefreshInterval)}
	f.retry = time.After(policy.Delay(f.failures))
	f.failures++
}

func (f *watcher) unsubscribe() {
	if f.sub != nil {
		_ = f.sub.Close()
		f.sub = nil
	}
}

// giveUp ends the attempts to subscribe until Refresh asks again. The host gets err as WatchEnded.
func (f *watcher) giveUp(err error) {
	f.giveUpErr = err
	f.ended.Store(true)
}

// recordChange records a change. Stale means every list whose changes the server announces.
func (f *watcher) recordChange(kind mcp.ChangeKind) {
	if f.sub == nil {
		return
	}
	switch kind {
	case mcp.ToolsChanged:
		f.due.tools = true
	case mcp.PromptsChanged:
		f.due.prompts = true
	case mcp.ResourcesChanged:
		f.due.resources = true
	case mcp.Stale:
		granted := f.sub.Filter()
		f.due.tools = f.due.tools || granted.ToolsListChanged
		f.due.prompts = f.due.prompts || granted.PromptsListChanged
		f.due.resources = f.due.resources || granted.ResourcesListChanged
	}
}

// reportDue reports the due changes, lists the tools again if they are due, and then pauses for
// Options.RefreshInterval.
func (f *watcher) reportDue(ctx context.Context) {
	if err := f.giveUpErr; err != nil {
		f.giveUpErr = nil
		f.opts.Logger.Warn("changes are not announced", "server", f.server, "error", err)
		f.report(ctx, WatchEnded, err)
	}
	if f.pause != nil || f.due == (due{}) {
		return
	}
	now := f.due
	f.due = due{}
	if now.prompts {
		f.report(ctx, PromptsChanged, nil)
	}
	if now.resources {
		f.report(ctx, ResourcesChanged, nil)
	}
	if now.tools {
		if err := f.relist(ctx); err != nil && ctx.Err() == nil {
			f.opts.Logger.Warn("tools not listed again", "server", f.server, "error", err)
			f.report(ctx, ToolsChanged, err)
		}
	}
	f.pause = time.After(f.opts.RefreshInterval)
}

// report reports to the host, which may have removed the server during an earlier report.
func (f *watcher) report(ctx context.Context, kind EventKind, err error) {
	if ctx.Err() == nil {
		f.tell(Event{Server: f.server, Kind: kind, Err: err})
	}
}
