package adapter

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// EventKind is the kind of an [Event].
type EventKind string

const (
	ToolsChanged EventKind = "tools changed" // a server's tools were listed again

	// ServerAdded means that a server is connected: by [Toolset.Add], because it is reached after Open, or again
	// after [ServerLost]. The fields list changes of its tools.
	ServerAdded EventKind = "server added"

	// RevisionChanged means that a server is now connected with an older revision, because its tools ask questions the
	// older way: Err has the refusal of such a question. Set [Server.Revision] to prevent it.
	RevisionChanged EventKind = "revision changed"

	// ServerLost means that the connection to a server has ended by itself: Err has the reason.
	// The toolset reconnects. The tools stay; their calls fail until then.
	ServerLost EventKind = "server lost"
)

// Event is a change of a toolset. Tools are given by the names that their server uses. Tools that
// are not for models are omitted.
type Event struct {
	Server  string
	Kind    EventKind
	Added   []string
	Removed []string
	Changed []string // tools with another description, schema or annotations

	// Err is the reason of RevisionChanged and ServerLost. With ToolsChanged it means
	// that the tools could not be listed after an announcement: the toolset keeps the old ones.
	Err error
}

// empty reports whether no tool has changed.
func (e *Event) empty() bool { return len(e.Added)+len(e.Removed)+len(e.Changed) == 0 }

// notifyHost reports an event to the host. No lock may be held.
func (c *connector) notifyHost(e Event) {
	if c.opts.OnChange == nil {
		return
	}
	if err := runGuarded(c.opts.Logger, "Options.OnChange", func() error { c.opts.OnChange(e); return nil }); err != nil {
		c.opts.Logger.Error("an event was not taken", "server", e.Server, "error", err)
	}
}

// toolNames returns the server's names of the tools for models.
func toolNames(tools []*Tool) []string {
	var names []string
	for _, tool := range forModels(tools) {
		names = append(names, tool.def.Name)
	}
	return names
}

// Refresh lists the tools of the named servers again, or of all that are not idle if no name is
// given. It first reconnects those that could not be reached, whose connection has ended, or that
// required a sign-in. A server that fails keeps its tools; the error joins all failures.
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

// refresh lists the tools of one server again, or reconnects it. A server that has stopped to
// announce changes is asked again to do so.
func (c *connector) refresh(ctx context.Context, s *server) error {
	if s.watch.ended.Load() && !c.mustReplace(s) {
		s.watch.awaitSubscription(ctx)
	}
	return c.changeServer(ctx, s, func(ctx context.Context) (*Event, error) {
		if c.mustReplace(s) {
			return c.reconnect(ctx, s)
		}
		return c.relistTools(ctx, s)
	})
}

// changeServer calls do exclusively for the server, and reports the event to the host, unless it is
// nil. It does nothing if the server was removed or replaced.
func (c *connector) changeServer(ctx context.Context, s *server, do func(context.Context) (*Event, error)) error {
	e, err := c.runExclusively(ctx, s, do)
	if e != nil { // OnChange may list again
		c.notifyHost(*e)
	}
	return err
}

// runExclusively calls do while nothing else lists the tools of the server. The context of do also
// ends with the toolset, and Close waits for do.
func (c *connector) runExclusively(ctx context.Context, s *server, do func(context.Context) (*Event, error)) (*Event, error) {
	select {
	case s.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("server %q: %w", s.label, ctx.Err())
	}
	defer func() { <-s.changing }()
	if !c.roster.delayClose(s) {
		return nil, nil
	}
	defer c.roster.background.Done()
	ctx, cancel := c.roster.withLife(ctx)
	defer cancel()
	e, err := do(ctx)
	if err != nil && c.roster.life.Err() != nil {
		return nil, errToolsetClosed
	}
	return e, err
}

// mustReplace reports whether a server has to be replaced: it could not be opened or is idle, or its connection has
// ended and its client does not restart it.
func (c *connector) mustReplace(s *server) bool {
	c.roster.mu.Lock()
	failed := s.err != nil
	c.roster.mu.Unlock()
	return failed || s.client == nil || s.client.Err() != nil
}

// relistTools lists the tools of a server and replaces the earlier list. The event is nil if
// nothing changed. After an error the earlier list stays.
func (c *connector) relistTools(ctx context.Context, s *server) (*Event, error) {
	ctx, cancel := s.state.policy.connectContext(ctx)
	defer cancel()
	l, err := c.list(ctx, s, mcpclient.WithoutCache())
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.label, err)
	}
	pins := l.applyPins(s, s.pins)
	var e Event
	c.roster.replace(s, s, func() bool { // unless it was removed in the meantime
		e = l.diff(s)
		s.listing, s.pins = l, pins
		return true
	})
	if e.empty() {
		return nil, nil
	}
	return &e, nil
}

// reconnect replaces a server by a new connection; the old one is closed after its last call. The
// event is nil if the server was removed meanwhile. After an error nothing has changed.
func (c *connector) reconnect(ctx context.Context, old *server) (*Event, error) {
	s := c.newServer(old.recipe, old.state)
	s.pins = old.pins
	if err := c.open(ctx, s); err != nil {
		return nil, err
	}
	var e Event
	replaced := c.roster.replace(old, s, func() bool {
		e = s.diff(old)
		e.Kind = ServerAdded
		return true
	})
	if !replaced {
		_ = s.close()
		return nil, nil
	}
	c.lender.retire(old)
	if !old.dormant {
		c.opts.Logger.Info("a server is there again", "server", s.label)
	}
	c.watchServer(s)
	return &e, nil
}
