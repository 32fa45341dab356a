package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// failTogether is how long the other servers have to fail as well, once one did.
const failTogether = 2 * time.Second

// errOthersFailed cancels the start of the other servers when one has failed.
var errOthersFailed = errors.New("another server failed")

// Open connects to all servers at the same time, lists their tools and makes one
// toolset of them. The context bounds the opening only.
//
// The order of tools is stable: servers as given, tools as their server lists
// them.
//
// When a server fails, so does Open, unless its [Policy.Start] is [StartAvailable] or [StartLazy]:
// the toolset then opens without it. The error names every server that fails within two
// seconds of the first; Open does not wait for later ones. When Open fails, what it
// had opened is closed again.
func Open(ctx context.Context, servers []Server, opts *Options) (_ *Toolset, err error) {
	t := newToolset(opts.withDefaults())
	if err := cmp.Or(t.opts.Policy.check(), checkServers(servers)); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	if err := t.connect(ctx, servers); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	t.mu.Lock()
	t.buildLocked()
	opened := t.servers
	t.mu.Unlock()
	for _, s := range opened {
		if s.coming == nil {
			close(s.watch.offered)
			t.tend(s)
		}
	}
	return t, nil
}

func checkServers(servers []Server) error {
	seen := map[string]bool{}
	for i := range servers {
		if err := checkServer(&servers[i]); err != nil {
			return err
		}
		if seen[servers[i].Name] {
			return fmt.Errorf("server %q is there twice: give each a name of its own", servers[i].Name)
		}
		seen[servers[i].Name] = true
	}
	return nil
}

// connect opens every server. The first failure of one that is required ends the others,
// once they had the time to fail as well.
func (t *Toolset) connect(ctx context.Context, servers []Server) error {
	policies := make([]*policy, len(servers))
	required := false
	for i := range servers {
		policies[i] = newPolicy(t.opts, &servers[i])
		required = required || policies[i].Start == StartRequired
	}
	if !required && t.opts.Patience > 0 {
		return t.connectQuick(ctx, servers, policies)
	}
	starting, end := context.WithCancelCause(ctx)
	defer end(nil)
	var (
		wg   sync.WaitGroup
		once sync.Once
		late *time.Timer // nil before the first failure
	)
	failed := make([]error, len(servers))
	t.servers = make([]*server, len(servers))
	for i := range servers {
		recipe := servers[i]
		s := t.newServer(&recipe, policies[i])
		t.servers[i] = s
		wg.Go(func() {
			if s.recall() {
				return
			}
			s.err = s.enter(starting)
			switch {
			case s.err == nil:
			case s.policy.Start != StartRequired:
				t.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
			case context.Cause(starting) != errOthersFailed:
				failed[i] = s.err
				once.Do(func() { late = time.AfterFunc(failTogether, func() { end(errOthersFailed) }) })
			}
		})
	}
	wg.Wait()
	if late != nil {
		late.Stop()
	}
	err := errors.Join(failed...)
	switch {
	case err == nil:
		return ctx.Err()
	case ctx.Err() != nil:
		return err
	}
	return fmt.Errorf("%w (Policy.Start: StartAvailable continues without servers that fail)", err)
}

// Add opens another server. It comes last. Names of other tools may change if
// they collide with the new ones, see [Options.Prefix].
// The context bounds the opening only.
func (t *Toolset) Add(ctx context.Context, added Server) error {
	if err := t.add(ctx, &added); err != nil {
		return fmt.Errorf("add to toolset: %w", err)
	}
	return nil
}

func (t *Toolset) add(ctx context.Context, added *Server) error {
	if err := checkServer(added); err != nil {
		return err
	}
	if err := t.reserve(added.Name); err != nil {
		return err
	}
	s := t.newServer(added, newPolicy(t.opts, added))
	var err error
	if !s.recall() {
		err = s.enter(ctx)
	}
	t.mu.Lock()
	delete(t.reserved, s.label)
	if err == nil && t.closed {
		err = errToolsetClosed
	}
	if err == nil {
		t.servers = append(t.servers, s)
		t.buildLocked()
	}
	t.mu.Unlock()
	if err != nil {
		_ = s.close()
		return err
	}
	close(s.watch.offered)
	t.tend(s)
	t.tell(Event{Server: s.label, Kind: ServerAdded, Added: toolNames(s.tools)})
	return nil
}

// reserve keeps a server's name free while it is being opened.
func (t *Toolset) reserve(label string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errToolsetClosed
	}
	if t.reserved[label] || t.serverLocked(label) >= 0 {
		return fmt.Errorf("server %q is there already: remove it first, or give it another name", label)
	}
	t.reserved[label] = true
	return nil
}

// Remove takes a server and its tools away and closes its connection when the
// toolset made it. Calls under way on it end with an error.
func (t *Toolset) Remove(name string) error {
	t.mu.Lock()
	i := t.serverLocked(name)
	if i < 0 {
		t.mu.Unlock()
		return fmt.Errorf("remove from toolset: there is no server %q", name)
	}
	s := t.servers[i]
	s.end()
	t.servers = append(t.servers[:i:i], t.servers[i+1:]...)
	t.buildLocked()
	removed := toolNames(s.tools)
	t.mu.Unlock()
	t.tell(Event{Server: name, Kind: ServerRemoved, Removed: removed})
	t.stopUsers(s.policy)
	if err := s.close(); err != nil {
		return fmt.Errorf("remove server %q: %w", name, err)
	}
	return nil
}
