package adapter

import (
	"cmp"
	"context"
	"fmt"
)

// Open connects to all servers concurrently, lists their tools, and returns a toolset of them,
// which may be none. ctx bounds only the opening.
//
// Tools have a stable order: servers as given, tools as listed.
//
// If a server fails, Open fails, unless its [Policy.Start] is [StartAvailable] or [StartLazy]: then
// the toolset opens without it. The error names every server that fails within two seconds of the
// first. When Open fails it closes what it has opened. It also fails if two servers have the same
// Name.
func Open(ctx context.Context, servers []Server, opts *Options) (*Toolset, error) {
	t := newToolset(opts.withDefaults())
	if err := cmp.Or(t.opts.Policy.check(), checkServers(servers)); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	if err := t.connector.connect(ctx, servers); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	return t, nil
}

// checkServers returns an error for invalid servers, and for names that are not unique.
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

// Add adds a server at the end. It returns an error if the server cannot be opened, whatever its
// [Policy.Start], or if its Name is taken. Names of other tools may change if they collide with the
// new ones, see [Options.AlwaysPrefix]. ctx bounds only the opening.
func (t *Toolset) Add(ctx context.Context, added Server) error {
	if err := t.connector.add(ctx, &added); err != nil {
		return fmt.Errorf("add to toolset: %w", err)
	}
	return nil
}

// Remove removes a server and its tools, and closes its connection if the toolset opened it. Its
// current calls fail. It returns an error if there is no such server.
func (t *Toolset) Remove(name string) error {
	s := t.roster.remove(name)
	if s == nil {
		return fmt.Errorf("remove from toolset: there is no server %q", name)
	}
	t.lender.stopUsers(s.state)
	if err := s.close(); err != nil {
		return fmt.Errorf("remove server %q: %w", name, err)
	}
	return nil
}
