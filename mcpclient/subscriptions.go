package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ErrSubscriptionEnded is the error of a [Subscription] that the server ended, or that could not be
// made again in a new session.
var ErrSubscriptionEnded = errors.New("mcpclient: the server ended the subscription")

var errOtherEra = fmt.Errorf("%w: the server speaks another era of the protocol now: subscribe again", ErrSubscriptionEnded)

var errNoNotices error = &undeclaredError{"notices of what the filter asks for"}

// The notifications about tasks; each era has one.
const (
	legacyTaskNotice = "notifications/tasks/status"
	modernTaskNotice = "notifications/tasks"
)

// Subscription reports changes on the server until it is closed.
type Subscription struct {
	all     *subscriptions // the subscriptions of the client
	asked   mcp.SubscriptionFilter
	stream  bool   // it has a stream of its own, in the modern era
	unwatch func() // unsubscribes from the resources after Close, or nil

	// ctx ends when the subscription or the client is closed. It has the values of the context
	// with which it was made.
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	granted *mcp.SubscriptionFilter // nil until the server has agreed
	queue   []mcp.Change
	err     error

	wake  chan struct{} // has a token when there is something to take
	ready chan struct{} // closed when the server has agreed
	ended chan struct{} // closed when nothing more arrives
}

// Subscribe subscribes to changes. It returns when the server has agreed. This wait is bounded by
// ctx and by 30 s, or another limit of [WithTimeout] or [Timeouts.Call]; the subscription lasts
// until it is closed.
//
// Changes that the server does not declare to announce are left out of the filter, and a server
// may agree to less than it was asked: [Subscription.Filter] returns what applies. If nothing
// is left the error is [ErrUndeclared]; lists then have to be polled.
//
// In the modern era a subscription is one subscriptions/listen. It is sent again, after growing
// waits, when its stream breaks or, over HTTP, is silent for 5 min, without even a comment;
// missed changes become one [mcp.Stale]. In the legacy era it is resources/subscribe for each
// resource, and the notifications about lists and tasks that arrive without a request;
// subscriptions to the same resource share one. Over HTTP these arrive on the standalone
// stream: if it opens late, or was interrupted and cannot be resumed, they become [mcp.Stale].
func (c *Client) Subscribe(ctx context.Context, filter mcp.SubscriptionFilter, opts ...CallOption) (*Subscription, error) {
	if isEmptyFilter(&filter) {
		return nil, errors.New("subscribe: filter asks for nothing")
	}
	o, err := c.caller.callOptions(opts)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	o.whole.Duration = cmp.Or(max(o.whole.Duration, 0), acknowledgeTimeout)
	o.progress = nil
	o.logLevel = "" // a subscription has neither
	bounded, bounds := within(ctx, bound.Limits{Whole: o.whole.Duration})
	defer bounds.Stop()
	s, err := c.subscribe(ctx, bounded, filter, o)
	if errors.Is(err, errOtherEra) { // the subscription has found that out
		s, err = c.subscribe(ctx, bounded, filter, o)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return s, nil
}

// subscribe adds a subscription for the part of the filter that the server announces, and opens its
// stream or asks the server to watch. bounded is ctx with the limit of the wait.
func (c *Client) subscribe(ctx, bounded context.Context, filter mcp.SubscriptionFilter, o *callOptions) (*Subscription, error) {
	era, err := c.sessions.awaitSession(bounded)
	if err != nil {
		return nil, err
	}
	asked := c.subscribablePart(filter)
	if isEmptyFilter(&asked) {
		return nil, errNoNotices
	}
	s := c.subscriptions.add(context.WithoutCancel(ctx), asked, era.has(listenStreams))
	switch {
	case s.stream != c.current().has(listenStreams): // it was too late for endOtherEra
		err = errOtherEra
	case s.stream:
		err = c.subscriptions.listenFor(bounded, s, o)
	default:
		c.standalone.open(bounded, false)
		err = c.subscriptions.watchFor(bounded, s, o)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// subscribablePart returns the part of a filter that the server announces, or all of it with
// Options.Protocol.AllowUndeclared.
func (c *Client) subscribablePart(filter mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	if c.protocol.AllowUndeclared {
		return distinct(filter)
	}
	return announcedPart(&c.server.Load().Capabilities, filter)
}

// Filter returns what the server agreed to report.
func (s *Subscription) Filter() mcp.SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := *s.granted
	f.Resources, f.Tasks = slices.Clone(f.Resources), slices.Clone(f.Tasks)
	return f
}

// Changes waits for changes and yields them in order. It ends without an error when the
// subscription is closed. An error is the last pair: the end of ctx, [ErrSubscriptionEnded],
// [ErrClosed], or why the server could not be asked again.
//
// A change that is already waiting is not added again. If more than 1,024 would
// wait, they are replaced by [mcp.Stale]. Only one goroutine at a time should range; what
// it did not take is left for the next range.
func (s *Subscription) Changes(ctx context.Context) iter.Seq2[mcp.Change, error] {
	return func(yield func(mcp.Change, error) bool) {
		for {
			change, ok, ended := s.dequeue()
			switch {
			case ok:
				if !yield(change, nil) {
					return
				}
				continue
			case ended:
				if s.err != nil {
					yield(mcp.Change{}, s.err)
				}
				return
			}
			select {
			case <-s.wake:
			case <-s.ended:
			case <-ctx.Done():
				yield(mcp.Change{}, contextError(ctx))
				return
			}
		}
	}
}

// Wake returns a channel that receives when there may be changes: call [Subscription.Next] until
// there is none. Together they do in a select what [Subscription.Changes] does in a range.
func (s *Subscription) Wake() <-chan struct{} { return s.wake }

// Next returns the oldest change without waiting. If there is none, and none can arrive, the
// error is the last error of [Subscription.Changes], nil after Close.
func (s *Subscription) Next() (change mcp.Change, ok bool, err error) {
	change, ok, ended := s.dequeue()
	if ended {
		err = s.err
	}
	return change, ok, err
}

// dequeue returns the oldest change. ended means that there is none and none can arrive; then
// err does not change any more.
func (s *Subscription) dequeue() (change mcp.Change, ok, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return mcp.Change{}, false, s.hasEnded()
	}
	change = s.queue[0]
	s.queue = s.queue[1:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	return change, true, false
}

// push adds a change for the reader, unless it waits already or the queue says that all is stale. A
// change beyond the bound makes all stale.
func (s *Subscription) push(change mcp.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hasEnded(), slices.Contains(s.queue, change), len(s.queue) > 0 && s.queue[0].Kind == mcp.Stale:
		return
	case change.Kind == mcp.Stale, len(s.queue) >= maxNotifications:
		s.queue = []mcp.Change{{Kind: mcp.Stale}}
	default:
		s.queue = append(s.queue, change)
	}
	s.wakeReader()
}

func (s *Subscription) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// setGranted records the filter that the server agreed to. again means that it had agreed before.
func (s *Subscription) setGranted(f mcp.SubscriptionFilter) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again = s.granted != nil
	s.granted = &f
	if !again {
		close(s.ready)
	}
	return again
}

func (s *Subscription) end(err error) {
	s.all.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded() {
		return
	}
	s.err = err
	if err == nil {
		s.queue = nil
	}
	close(s.ended)
	s.wakeReader()
}

func (s *Subscription) wakeReader() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends the subscription. It returns immediately; the server is notified within 5 s. Close may
// be called more than once.
func (s *Subscription) Close() error {
	s.end(nil)
	s.cancel()
	if s.unwatch != nil {
		s.unwatch()
	}
	return nil
}
