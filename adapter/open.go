package adapter

import (
	"cmp"
	"context"
	"fmt"
)

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
	if err := t.connector.connect(ctx, servers); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
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

// Add opens another server. It comes last. Names of other tools may change if
// they collide with the new ones, see [Options.Prefix].
// The context bounds the opening only.
func (t *Toolset) Add(ctx context.Context, added Server) error {
	if err := t.connector.add(ctx, &added); err != nil {
		return fmt.Errorf("add to toolset: %w", err)
	}
	return nil
}

// Remove takes a server and its tools away and closes its connection when the
// toolset made it. Calls under way on it end with an error.
func (t *Toolset) Remove(name string) error {
	s := t.roster.remove(name)
	if s == nil {
		return fmt.Errorf("remove from toolset: there is no server %q", name)
	}
	t.connector.tell(Event{Server: name, Kind: ServerRemoved, Removed: toolNames(s.tools)})
	t.lender.stopUsers(s.policy)
	if err := s.close(); err != nil {
		return fmt.Errorf("remove server %q: %w", name, err)
	}
	return nil
}
