package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// subscribe asks the server to watch the resources; lists it watches unasked.
func (e *legacyEra) subscribe(ctx context.Context, c *Client, s *Subscription, o *callOptions) error {
	ctx, bounds := within(ctx, idle.Limits{Whole: o.whole.Duration})
	defer bounds.Stop()
	e.heed(ctx, c)
	if err := c.watch(ctx, s.asked.Resources, o); err != nil {
		return err
	}
	s.agree(s.asked)
	if !c.life.start(func() { s.lasts(c) }) {
		return ErrClosed
	}
	return nil
}

// lasts ends the subscription with the client.
func (s *Subscription) lasts(c *Client) {
	select {
	case <-s.ctx.Done():
	case <-c.life.ctx.Done():
		s.end(c.life.cause())
	}
}

func (e *legacyEra) unsubscribe(c *Client, s *Subscription) {
	if len(s.asked.Resources) == 0 {
		return
	}
	c.life.start(func() {
		ctx, cancel := context.WithTimeout(c.life.ctx, tellTimeout)
		defer cancel()
		if err := c.watch(ctx, nil, &callOptions{}); err != nil && c.life.isOpen() {
			c.log.Warn("the server goes on watching resources", "error", err)
		}
	})
}

// watch has the server watch the resources uris too, and none that no
// subscription is about any more. When the server has forgotten the session, or
// the connection was lost, it does so once more in the next one.
func (c *Client) watch(ctx context.Context, uris []string, o *callOptions) error {
	r := &request{method: "resources/subscribe"} // counts how often that happens
	for resends := 0; ; resends++ {
		if err := c.session.settle(ctx); err != nil {
			return err
		}
		err := c.watchInTurn(ctx, uris, o)
		if err == nil || ctx.Value(renewing{&c.session}) != nil {
			return err
		}
		if again, err := c.resend(ctx, r, err, resends); !again {
			return err
		}
	}
}

// watchInTurn is a watch that talks to the server alone, so that what it is told
// last is what holds.
func (c *Client) watchInTurn(ctx context.Context, uris []string, o *callOptions) error {
	subs := c.subs.get()
	leave, err := subs.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	told, wanted := subs.watched()
	for _, uri := range uris {
		if told[uri] {
			continue
		}
		subs.tell(uri, false) // it may come to watch without our hearing of it
		if err := c.watchOne(ctx, "resources/subscribe", uri, o); err != nil {
			if unwatched(err) {
				subs.untell(uri)
			}
			return fmt.Errorf("resource %q: %w", excerpt.Cut(uri), err)
		}
		subs.tell(uri, true)
	}
	for _, uri := range slices.Sorted(maps.Keys(told)) {
		if wanted[uri] {
			continue
		}
		subs.untell(uri)
		if err := c.watchOne(ctx, "resources/unsubscribe", uri, o); err != nil {
			return fmt.Errorf("resource %q: %w", excerpt.Cut(uri), err)
		}
	}
	return nil
}

// unwatched reports whether a server certainly does not watch what it was asked
// to watch when that ended with err: it refused, never knew of it or forgot.
func unwatched(err error) bool {
	_, refused := errors.AsType[*mcp.RPCError](err)
	_, unsent := errors.AsType[*unsentError](err)
	_, forgot := lostSession(err)
	return refused || unsent || forgot || errors.Is(err, ErrConnectionLost)
}

func (c *Client) watchOne(ctx context.Context, method, uri string, o *callOptions) error {
	params, err := jsonrpc.EncodeParams(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	r := &request{method: method, target: uri, params: params}
	c.number(r)
	_, err = c.direct(ctx, r, o)
	return err
}

// resubscribe tells the server what to watch. A resource that it will not watch any
// more does not keep it from the others.
func (e *legacyEra) resubscribe(ctx context.Context, c *Client) error {
	subs := c.subs.get()
	leave, err := subs.enter(ctx)
	if err != nil {
		return err
	}
	_, wanted := subs.watched()
	subs.mu.Lock()
	subs.told = nil
	subs.mu.Unlock()
	leave()
	defer subs.spread(Change{Kind: Stale})
	for _, uri := range slices.Sorted(maps.Keys(wanted)) {
		err := c.watch(ctx, []string{uri}, &callOptions{})
		if _, refused := errors.AsType[*mcp.RPCError](err); refused {
			c.log.Warn("the server does not watch a resource any more", "error", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// enter waits until nobody else tells the server what to watch.
func (l *subscriptions) enter(ctx context.Context) (leave func(), err error) {
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
		return nil, ended(ctx)
	}
}

// watched returns the resources that the server was asked to watch (true: it has
// agreed), and those that the subscriptions are about.
func (l *subscriptions) watched() (told, wanted map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted = map[string]bool{}
	for _, s := range l.all {
		for _, uri := range s.asked.Resources {
			wanted[uri] = true
		}
	}
	return maps.Clone(l.told), wanted
}

func (l *subscriptions) tell(uri string, agreed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = map[string]bool{}
	}
	l.told[uri] = agreed
}

func (l *subscriptions) untell(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.told, uri)
}

// noticed brings a notification to what waits for it.
func (e *legacyEra) noticed(c *Client, _ *link, m jsonrpc.Message, _ *jsonrpc.Call) {
	if m.Method == "notifications/elicitation/complete" {
		c.unasked.get().urlElicitations.complete(m.Params)
	} else if change, ok := changeOf(m); ok && m.Method != modernTaskNotice {
		c.subs.get().spread(change)
	}
}

// spread brings a change to the subscriptions that it may be about. A resource
// that none is about by its URI is part of one that some subscription is about:
// "the URI ... might be a sub-resource of the one that the client subscribed to".
func (l *subscriptions) spread(change Change) {
	all := l.list()
	exact := change.Kind == TaskUpdated || slices.ContainsFunc(all, func(s *Subscription) bool { return s.asked.names(change) })
	for _, s := range all {
		if change.Kind == Stale || s.asked.takes(change.Kind) && (!exact || s.asked.names(change)) {
			s.push(change)
		}
	}
}

// names reports whether a filter has the very resource or task of a change.
func (f *SubscriptionFilter) names(change Change) bool {
	if change.Kind == TaskUpdated {
		return slices.Contains(f.Tasks, change.Task)
	}
	return slices.Contains(f.Resources, change.URI)
}
