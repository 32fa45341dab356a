package adapter

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// watched is what a toolset subscribes to.
var watched = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}

const (
	// agreeWait bounds how long the opening of a server waits until it acknowledges the
	// subscription.
	agreeWait = time.Second

	// maxResubscribe is the longest wait before subscribing again after a server ended a
	// subscription.
	maxResubscribe = 30 * time.Second
)

// listChanged is the announcement of a legacy server that its tools have changed.
const listChanged = "notifications/tools/list_changed"

// watch handles the announcements of a server: it has the tools listed again, and reports
// changes of prompts and resources to the host.
type watch struct {
	server string // the host's label
	opts   *Options
	relist func(context.Context) error
	tell   func(Event)

	offered chan struct{} // closed when the server has joined the toolset
	wake    chan struct{} // has a token after listChanged
	attend  chan attendant
	ended   atomic.Bool // nothing is announced until a caller attends
}

func newWatch(server string, o *Options, relist func(context.Context) error, tell func(Event)) *watch {
	return &watch{
		server: server, opts: o, relist: relist, tell: tell,
		offered: make(chan struct{}), wake: make(chan struct{}, 1), attend: make(chan attendant, 1),
	}
}

// attendant lists the tools once the server has acknowledged the subscription, or when ctx ends.
type attendant struct {
	ctx    context.Context
	agreed chan struct{}
}

// subscribed waits until the server acknowledges the subscription, for agreeWait at most. After
// a later acknowledgement everything counts as changed.
func (w *watch) subscribed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, agreeWait)
	defer cancel()
	a := attendant{ctx, make(chan struct{})}
	select {
	case w.attend <- a:
	default: // another caller attends
		return
	}
	select {
	case <-a.agreed:
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

// run is the goroutine of a server. It returns when ctx ends.
func (w *watch) run(ctx context.Context, client *mcpclient.Client) {
	f := following{watch: w, client: client}
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
			f.due.tools = f.due.tools || f.sub == nil || !f.sub.Filter().ToolsListChanged
		case a := <-w.attend:
			f.attended(ctx, a)
		case <-changes:
			f.take()
		case <-f.retry:
			f.subscribe(ctx)
			f.note(mcp.Stale)
		case <-f.rest:
			f.rest = nil
		}
		if offered == nil && ctx.Err() == nil { // the end of ctx is not an event
			f.work(ctx)
		}
	}
}

// following is the state of a watch. Only its goroutine uses it.
type following struct {
	*watch
	client *mcpclient.Client

	sub      *mcpclient.Subscription // nil if there is none
	none     bool                    // the server announces nothing
	began    time.Time               // when the last subscription began
	failures int                     // consecutive subscriptions that the server ended early
	retry    <-chan time.Time        // when to subscribe again, nil for never
	failed   error                   // why it gave up, until the host gets the event

	due  due
	rest <-chan time.Time // ends the interval after work, nil if there is none
}

// due says which lists have changed.
type due struct{ tools, prompts, resources bool }

// attended subscribes, unless it is subscribed, for a caller who then lists the tools.
func (f *following) attended(ctx context.Context, a attendant) {
	if f.sub == nil && f.retry == nil && !f.none {
		f.subscribe(ctx)
	}
	select {
	case a.agreed <- struct{}{}:
	case <-a.ctx.Done():
		f.note(mcp.Stale)
	}
}

// subscribe asks the server to announce changes.
func (f *following) subscribe(ctx context.Context) {
	again := !f.began.IsZero()
	f.began = time.Now()
	f.retry = nil
	sub, err := f.client.Subscribe(ctx, watched)
	_, nothing := errors.AsType[*mcpclient.CapabilityError](err)
	switch {
	case ctx.Err() != nil:
		if sub != nil {
			_ = sub.Close()
		}
	case err == nil:
		f.sub = sub
		f.ended.Store(false)
	case nothing && !again:
		f.none = true
	default:
		f.giveUp(err)
	}
}

// take handles what the server has announced. If the server ended the subscription, it
// subscribes again after growing waits; the client itself repairs broken streams.
func (f *following) take() {
	for {
		change, ok, err := f.sub.Next()
		switch {
		case ok:
			f.note(change.Kind)
			continue
		case err == nil:
			return
		}
		f.unsubscribe()
		if !errors.Is(err, mcpclient.ErrSubscriptionEnded) {
			f.giveUp(err)
			return
		}
		if time.Since(f.began) > maxResubscribe {
			f.failures = 0
		}
		pause := backoff.Policy{First: f.opts.RefreshInterval, Max: max(maxResubscribe, f.opts.RefreshInterval)}
		f.retry = time.After(pause.Delay(f.failures))
		f.failures++
		return
	}
}

func (f *following) unsubscribe() {
	if f.sub != nil {
		_ = f.sub.Close()
		f.sub = nil
	}
}

// giveUp ignores the server until a caller attends.
func (f *following) giveUp(err error) {
	f.failed = err
	f.ended.Store(true)
}

// note records a change. Stale means every list whose changes the server announces.
func (f *following) note(kind mcp.ChangeKind) {
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

// work does what is due, and then pauses for Options.RefreshInterval.
func (f *following) work(ctx context.Context) {
	if err := f.failed; err != nil {
		f.failed = nil
		f.opts.Logger.Warn("changes are not announced", "server", f.server, "error", err)
		f.say(ctx, WatchEnded, err)
	}
	if f.rest != nil || f.due == (due{}) {
		return
	}
	now := f.due
	f.due = due{}
	if now.prompts {
		f.say(ctx, PromptsChanged, nil)
	}
	if now.resources {
		f.say(ctx, ResourcesChanged, nil)
	}
	if now.tools {
		if err := f.relist(ctx); err != nil && ctx.Err() == nil {
			f.opts.Logger.Warn("tools not listed again", "server", f.server, "error", err)
			f.say(ctx, ToolsChanged, err)
		}
	}
	f.rest = time.After(f.opts.RefreshInterval)
}

// say reports to the host, which may have removed the server during an earlier report.
func (f *following) say(ctx context.Context, kind EventKind, err error) {
	if ctx.Err() == nil {
		f.tell(Event{Server: f.server, Kind: kind, Err: err})
	}
}
