package adapter

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// EventKind says what an [Event] is about.
type EventKind int

const (
	ToolsChanged     EventKind = iota // a server was asked for its tools again
	ServerAdded                       // by Add, or by a Refresh that reached it at last
	ServerRemoved                     // by Remove
	PromptsChanged                    // a server's prompts may have changed
	ResourcesChanged                  // a server's resources or templates may have changed

	// WatchEnded says that a server does not announce changes, although it had
	// declared or agreed to: Err has the reason. Refresh tries again.
	WatchEnded

	// RevisionChanged says that a server is connected in an older revision from now on, as
	// its tools ask in the way of that: Err has the refusal of such a question. [Server.Revision]
	// keeps that from happening.
	RevisionChanged

	// ServerLost says that the connection to a server has ended by itself: Err says how. The toolset connects again, see
	// [Options.RetryWait]; its tools stay, and their calls fail meanwhile.
	ServerLost

	// ServerReturned says that a server that was lost is connected again. The fields have what of its tools has changed.
	ServerReturned
)

// String is what the constant says in words.
func (k EventKind) String() string {
	words := [...]string{"tools changed", "server added", "server removed", "prompts changed", "resources changed", "watch ended", "revision changed", "server lost", "server returned"}
	if k < 0 || int(k) >= len(words) {
		return fmt.Sprintf("EventKind(%d)", int(k))
	}
	return words[k]
}

// Event says what changed in a toolset. Tools go by the names that their server
// gives them; tools that are for no model do not count.
type Event struct {
	Server  string
	Kind    EventKind
	Added   []string
	Removed []string
	Changed []string // another description, schema or annotation

	// Err says why the tools could not be listed again after the server had
	// announced a change, so that the toolset keeps the old ones; or why
	// the watch ended.
	Err error
}

// empty reports whether no tool is another.
func (e *Event) empty() bool { return len(e.Added)+len(e.Removed)+len(e.Changed) == 0 }

// tell reports an event to the host, without a lock.
func (c *connector) tell(e Event) {
	if c.opts.OnChange == nil {
		return
	}
	if err := guarded(c.opts.Logger, "Options.OnChange", func() error { c.opts.OnChange(e); return nil }); err != nil {
		c.opts.Logger.Error("an event was not taken", "server", e.Server, "error", err)
	}
}

func toolNames(tools []*Tool) []string {
	var names []string
	for _, tool := range forModels(tools) {
		names = append(names, tool.def.Name)
	}
	return names
}

// Refresh lists the tools of the servers with these names again, of all servers
// that do not rest ([StartLazy]) if none is named. It connects again at once to servers that could not be reached or
// whose connection has ended, as the toolset does by itself, see [Options.RetryWait]. A
// server that fails keeps its tools; the error joins what went wrong.
//
// A server that declares that it announces changes is asked for its tools if it
// announces one, at most once in every [Options.RefreshInterval]. For other servers
// Refresh is the way.
func (t *Toolset) Refresh(ctx context.Context, names ...string) error {
	chosen, err := t.roster.named(names)
	if err != nil {
		return fmt.Errorf("refresh toolset: %w", err)
	}
	errs := make([]error, len(chosen))
	var wg sync.WaitGroup
	for i, s := range chosen {
		wg.Go(func() { errs[i] = t.connector.refresh(ctx, s) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("refresh toolset: %w", err)
	}
	return nil
}

// refresh lists the tools of one server again, or connects to it again.
func (c *connector) refresh(ctx context.Context, s *server) error {
	if s.watch.ended.Load() && !c.failed(s) {
		s.watch.subscribed(ctx)
	}
	return c.change(ctx, s, func() (*Event, error) {
		if c.failed(s) {
			return c.reconnect(ctx, s)
		}
		return c.update(ctx, s)
	})
}

// relist lists the tools of one server again because it announced a change.
func (c *connector) relist(ctx context.Context, s *server) error {
	return c.change(ctx, s, func() (*Event, error) { return c.update(ctx, s) })
}

// change calls do, alone for the server, and tells the host of the event. It calls nothing for a server that has
// left the toolset, or has another one in its place.
func (c *connector) change(ctx context.Context, s *server, do func() (*Event, error)) error {
	e, err := c.alone(ctx, s, do)
	if e != nil { // OnChange may list again
		c.tell(*e)
	}
	return err
}

// alone calls do while nothing else lists the tools of the server.
func (c *connector) alone(ctx context.Context, s *server, do func() (*Event, error)) (*Event, error) {
	select {
	case s.listing <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("server %q: %w", s.label, ctx.Err())
	}
	defer func() { <-s.listing }()
	if !c.roster.has(s) {
		return nil, nil
	}
	return do()
}

// failed reports whether a server needs another one in its place: it could not be
// opened, or it is lost.
func (c *connector) failed(s *server) bool {
	c.roster.mu.Lock()
	failed := s.err != nil
	c.roster.mu.Unlock()
	return failed || s.lost()
}

// update lists the tools of a server and replaces the earlier list.
func (c *connector) update(ctx context.Context, s *server) (*Event, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.policy.ConnectTimeout,
		fmt.Errorf("not ready within %v (Policy.ConnectTimeout)", s.policy.ConnectTimeout))
	defer cancel()
	l, err := s.list(ctx, mcpclient.WithoutCache())
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.label, err)
	}
	c.roster.mu.Lock()
	pins := s.pins
	c.roster.mu.Unlock()
	pins = l.pinned(s, pins)
	var e Event
	c.roster.replace(s, s, func() bool { // unless it was removed meanwhile
		e = l.since(s)
		s.take(l, pins)
		return true
	})
	if e.empty() {
		return nil, nil
	}
	return &e, nil
}

// reconnect gives a server a new connection.
func (c *connector) reconnect(ctx context.Context, old *server) (*Event, error) {
	s := c.newServer(old.recipe, old.policy)
	c.roster.mu.Lock()
	s.pins = old.pins
	c.roster.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var e Event
	replaced := c.roster.replace(old, s, func() bool {
		e = (&listing{tools: s.tools}).since(old)
		if e.Kind = ServerReturned; old.err != nil {
			e.Kind = ServerAdded
		}
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
	c.attend(s)
	return &e, nil
}

// since says what a listing changes at a server. Tools that are the same stay the same value.
func (l *listing) since(s *server) Event {
	e := Event{Server: s.label, Kind: ToolsChanged}
	before := map[string]*Tool{}
	for _, tool := range s.tools {
		before[tool.def.Name] = tool
	}
	for i, tool := range l.tools {
		name := tool.def.Name
		old := before[name]
		delete(before, name)
		was := old != nil && old.views.ForModel
		switch is := tool.views.ForModel; {
		case is && !was:
			e.Added = append(e.Added, name)
		case was && !is:
			e.Removed = append(e.Removed, name)
		case is && old.fingerprint != tool.fingerprint:
			e.Changed = append(e.Changed, name)
		}
		if old != nil && old.client == tool.client && old.own == tool.own && reflect.DeepEqual(old.def, tool.def) {
			l.tools[i] = old
		}
	}
	for _, tool := range s.tools {
		if tool.views.ForModel && before[tool.def.Name] != nil {
			e.Removed = append(e.Removed, tool.def.Name)
		}
	}
	return e
}
