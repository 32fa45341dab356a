package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ErrSubscriptionEnded is why the changes of a [Subscription] end when it is
// the server that ended it.
var ErrSubscriptionEnded = errors.New("mcpclient: the server ended the subscription")

// errNoNotices is the error where a server tells of nothing that it is asked for.
var errNoNotices error = &CapabilityError{Capability: "notices of what the filter asks for"}

// The notices of tasks; each era has one.
const (
	legacyTaskNotice = "notifications/tasks/status"
	modernTaskNotice = "notifications/tasks"
)

// Subscription tells of changes on the server until it is closed.
type Subscription struct {
	all    *subscriptions // of the client
	asked  mcp.SubscriptionFilter
	stream bool   // it has a stream of its own: in the modern era
	leave  func() // tells the server after Close; nil if it need not be told

	// ctx ends when the subscription is closed or the client is. It has the
	// values of the context that it was made with.
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	granted *mcp.SubscriptionFilter // nil until the server has answered
	queue   []mcp.Change
	err     error

	wake  chan struct{} // holds one token when there is something to see
	ready chan struct{} // closed when the server has answered
	over  chan struct{} // closed when nothing comes any more
}

// Subscribe asks to be told of changes. It returns when the server has agreed,
// for which it waits 30 s unless [WithTimeout] or [Timeouts.Call] has another
// bound; ctx bounds that wait only, and the subscription lasts until it is
// closed.
//
// What the server does not declare to notify of is left out, and a server may
// agree to less than it was asked: [Subscription.Filter] has what is in force.
// Where nothing is left the error is a [*CapabilityError]; then lists have to
// be asked for again now and then.
//
// In the modern era a subscription is one subscriptions/listen, which is issued
// again, ever more slowly, when its stream breaks or is silent for too long (see
// [Timeouts.SubscriptionIdle]); the changes that were missed become one [mcp.Stale].
// In the legacy era it is resources/subscribe for each resource, and the notices
// of lists and tasks that come unasked; two subscriptions to the same resource
// share one. Over HTTP those come on the standalone stream: when that was
// interrupted, and the server has no means to resume it, they become [mcp.Stale].
func (c *Client) Subscribe(ctx context.Context, filter mcp.SubscriptionFilter, opts ...CallOption) (*Subscription, error) {
	s, err := c.subscribe(ctx, filter, opts)
	if errors.Is(err, errOtherEra) { // which that has found
		s, err = c.subscribe(ctx, filter, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return s, nil
}

func (c *Client) subscribe(ctx context.Context, filter mcp.SubscriptionFilter, opts []CallOption) (*Subscription, error) {
	if asksNothing(&filter) {
		return nil, errors.New("the filter asks for nothing")
	}
	o, err := c.caller.callOptions(opts)
	if err != nil {
		return nil, err
	}
	asked := announced(&c.server.Load().Capabilities, filter)
	if c.opts.Protocol.AllowUndeclared {
		asked = distinct(filter)
	}
	if asksNothing(&asked) {
		return nil, errNoNotices
	}
	o.whole.Duration = cmp.Or(max(o.whole.Duration, 0), agreeTimeout)
	o.progress, o.logLevel = nil, "" // a subscription has neither
	s := c.subscriptions.add(context.WithoutCancel(ctx), asked, c.current().has(listenStreams))
	if s.stream {
		err = c.subscriptions.listenFor(ctx, s, o)
	} else {
		c.standalone.open(ctx)
		err = c.subscriptions.watchFor(ctx, s, o)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Filter is what the server agreed to tell of.
func (s *Subscription) Filter() mcp.SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := *s.granted
	f.Resources, f.Tasks = slices.Clone(f.Resources), slices.Clone(f.Tasks)
	return f
}

// Changes waits for changes and yields them in the order in which they came. It
// ends without an error when the subscription is closed. An error is the last
// pair: that ctx ended, [ErrSubscriptionEnded], [ErrClosed], or why the server
// could not be asked again.
//
// A change that is waiting already is not kept twice, and of more than
// [Limits.Notifications] nothing is kept but [mcp.Stale]. One goroutine should
// range at a time; what it did not take waits for the next range.
func (s *Subscription) Changes(ctx context.Context) iter.Seq2[mcp.Change, error] {
	return func(yield func(mcp.Change, error) bool) {
		for {
			change, err, ok := s.next(ctx)
			switch {
			case err != nil:
				yield(mcp.Change{}, err)
				return
			case !ok || !yield(change, nil):
				return
			}
		}
	}
}

// Wake receives when there may be changes for [Subscription.Next]: take them until
// there is none. The two do in a select what [Subscription.Changes] does in a range.
func (s *Subscription) Wake() <-chan struct{} { return s.wake }

// Next takes the oldest change without waiting. If there is none and none can
// come, the error is the final error of [Subscription.Changes]: nil after
// Close.
func (s *Subscription) Next() (change mcp.Change, ok bool, err error) {
	change, ok, over := s.take()
	if over {
		err = s.err
	}
	return change, ok, err
}

// next waits for a change; ok is false when the subscription was closed.
func (s *Subscription) next(ctx context.Context) (change mcp.Change, err error, ok bool) {
	for {
		change, ok, over := s.take()
		switch {
		case ok:
			return change, nil, true
		case over:
			return mcp.Change{}, s.err, false
		}
		select {
		case <-s.wake:
		case <-s.over:
		case <-ctx.Done():
			return mcp.Change{}, ended(ctx), false
		}
	}
}

// take returns the oldest change. It reports over if there is none and none can
// come any more.
func (s *Subscription) take() (change mcp.Change, ok, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return mcp.Change{}, false, s.isOver()
	}
	change = s.queue[0]
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return change, true, false
}

// push keeps a change for the reader.
func (s *Subscription) push(change mcp.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isOver(), slices.Contains(s.queue, change), len(s.queue) > 0 && s.queue[0].Kind == mcp.Stale:
		return
	case change.Kind == mcp.Stale, len(s.queue) >= s.all.maxChanges:
		s.queue = []mcp.Change{{Kind: mcp.Stale}}
	default:
		s.queue = append(s.queue, change)
	}
	s.signal()
}

func (s *Subscription) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// agree records what the server agreed to, and reports whether it had done so
// before.
func (s *Subscription) agree(f mcp.SubscriptionFilter) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again = s.granted != nil
	s.granted = &f
	if !again {
		close(s.ready)
	}
	return again
}

// end lets nothing come any more, for the reason err; nil is Close.
func (s *Subscription) end(err error) {
	s.all.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver() {
		return
	}
	if s.err = err; err == nil {
		s.queue = nil
	}
	close(s.over)
	s.signal()
}

// signal puts a token into wake.
func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends the subscription. It returns at once; the server is told
// elsewhere, within 5 s. Close may be called more than once.
func (s *Subscription) Close() error {
	s.end(nil)
	s.cancel()
	if s.leave != nil {
		s.leave()
	}
	return nil
}
