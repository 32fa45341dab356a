package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Refresh lists the tools of the named servers again or, without names, of all servers that are not idle. It first
// connects a named server that is idle, and each server that could not be reached, required a sign-in, or has lost its
// connection. A server that fails keeps its tools; the error joins all failures.
//
// Servers that announce changes are listed automatically, at most once a second. For other servers call Refresh.
func (t *Toolset) Refresh(ctx context.Context, names ...string) error {
	chosen, err := t.roster.listNamed(names)
	if err != nil {
		return fmt.Errorf("refresh toolset: %w", err)
	}
	if err := concurrently(chosen, func(s *server) error { return t.connector.refresh(ctx, s) }); err != nil {
		return fmt.Errorf("refresh toolset: %w", err)
	}
	return nil
}

// refresh lists the tools of one server again, or reconnects it. A server that no longer announces changes is asked
// again to do so.
func (c *connector) refresh(ctx context.Context, s *server) error {
	if s.watch.ended.Load() && !c.mustReplace(s) {
		s.watch.awaitSubscription(ctx)
	}
	return c.changeServer(ctx, s, func(ctx context.Context) (*Event, error) {
		switch {
		case s.dormant:
			return c.wake(ctx, s)
		case !c.mustReplace(s):
			return c.relistTools(ctx, s)
		}
		e, err := c.reconnect(ctx, s, ServerAdded, c.open)
		switch {
		case e != nil:
			c.opts.Logger.Info("a server is connected", "server", s.state.label)
		case err != nil && ctx.Err() == nil && !errors.Is(err, backoff.ErrUnattended) && !errors.Is(err, transport.ErrDialedOnce):
			c.roster.fail(s, err) // after the other errors, the earlier one says more
		}
		return e, err
	})
}

// relistAnnounced lists the tools of a server again after an announcement. It first waits for OnChange, so that a server
// that announces changes all the time adds no more events than the host takes. No person is asked to sign in.
func (c *connector) relistAnnounced(ctx context.Context, s *server) error {
	c.reporter.settle(ctx)
	return c.changeServer(backoff.Unattended(ctx), s, func(ctx context.Context) (*Event, error) {
		e, err := c.relistTools(ctx, s)
		if err != nil && ctx.Err() == nil {
			e = &Event{Server: s.state.label, Kind: ToolsChanged, Err: err}
		}
		return e, err
	})
}

// changeServer calls do exclusively for the server, and reports the event to the host, unless it is nil. It waits for
// OnChange, unless that may have called it. It does nothing if the toolset is closed, or the server removed or replaced.
func (c *connector) changeServer(ctx context.Context, s *server, do func(context.Context) (*Event, error)) error {
	mayWait, err := c.runExclusively(ctx, s, do)
	if mayWait {
		c.reporter.settle(ctx)
	}
	return err
}

// runExclusively calls do, and queues its event, while nothing else lists the tools of the server: so the events of a
// server have the order of its changes. The context of do also ends with the toolset, and Close waits for do. The result
// is that of reporter.add.
func (c *connector) runExclusively(
	ctx context.Context, s *server, do func(context.Context) (*Event, error),
) (mayWait bool, err error) {
	select {
	case s.state.changing <- struct{}{}:
	case <-ctx.Done():
		return false, fmt.Errorf("server %q: %w", s.state.label, ctx.Err())
	}
	defer func() { <-s.state.changing }()
	done := c.roster.delayClose(s)
	if done == nil {
		return false, nil
	}
	defer done()
	ctx, cancel := c.roster.withLife(ctx)
	defer cancel()
	e, err := do(ctx)
	if err != nil && c.roster.life.Err() != nil {
		return false, errToolsetClosed
	}
	return e != nil && c.reporter.add(s.state, *e), err
}

// mustReplace reports whether a server has to be replaced: it could not be opened, or its connection has ended and its client
// does not restart it.
func (c *connector) mustReplace(s *server) bool { return s.client == nil || s.client.Err() != nil }

// relistTools lists the tools of a server and replaces the earlier list. The event is nil if
// nothing changed. After an error the earlier list stays.
func (c *connector) relistTools(ctx context.Context, s *server) (*Event, error) {
	ctx, cancel := s.state.policy.connectContext(ctx)
	defer cancel()
	l, err := c.list(ctx, s, mcpclient.WithoutCache())
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.state.label, err)
	}
	pins := l.applyPins(s, s.pins)
	var e Event
	c.roster.replace(s, func() *server { // unless it was removed in the meantime
		if e = l.diff(s); !slices.Equal(l.tools, s.tools) {
			s.state.changes++
		}
		s.listing, s.pins = l, pins
		return s
	})
	if e.empty() {
		return nil, nil
	}
	return &e, nil
}

// relistUserTools lists the tools of a user's connection again, if those of the server have changed since the last time.
func (c *connector) relistUserTools(ctx context.Context, s *server) error {
	c.roster.mu.Lock()
	changes, pins := s.state.changes, s.pins
	isCurrent := s.seen == changes
	c.roster.mu.Unlock()
	if isCurrent {
		return nil
	}
	ctx, cancel := s.state.policy.connectContext(ctx)
	defer cancel()
	l, err := c.list(ctx, s, mcpclient.WithoutCache())
	if err != nil {
		return &unsentError{fmt.Errorf("server %q: %w", s.state.label, err)}
	}
	pins = l.applyPins(s, pins)
	c.roster.mu.Lock()
	defer c.roster.mu.Unlock()
	s.listing, s.pins, s.seen = l, pins, changes
	return nil
}

// reconnect replaces a server by a new connection, which open makes; the old one is closed after its last call. The event, of
// that kind, is nil if the server was removed meanwhile, which ends the attempt. After an error nothing has changed.
func (c *connector) reconnect(
	ctx context.Context, old *server, kind EventKind, open func(context.Context, *server) error,
) (*Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(old.life, cancel)()
	s := c.newServer(old.state)
	s.pins = old.pins
	if err := open(ctx, s); err != nil {
		if old.life.Err() != nil && c.roster.life.Err() == nil {
			return nil, nil
		}
		return nil, err
	}
	var e Event
	replaced := c.roster.replace(old, func() *server {
		e = s.diff(old)
		e.Kind = kind
		s.state.changes++
		return s
	})
	if !replaced {
		_ = s.close()
		return nil, nil
	}
	c.lender.retire(old)
	c.watchServer(s)
	return &e, nil
}
