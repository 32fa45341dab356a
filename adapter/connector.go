package adapter

import (
	"context"

	"github.com/mcpchain/mcpchain/internal/schema"
)

// connector connects the servers of a toolset and lists their tools. It replaces connections
// that are lost, idle, or need another protocol revision.
type connector struct {
	opts    *Options
	roster  *roster
	lender  *lender
	calls   *calls // runs calls of the tools
	schemas schema.Cache
}

// newServer returns a server of this toolset. The recipe must not change afterwards.
func (c *connector) newServer(recipe *Server, state *serverState) *server {
	s := &server{
		label:    recipe.Name,
		recipe:   recipe,
		state:    state,
		pins:     recipe.Pins,
		changing: make(chan struct{}, 1),
	}
	s.watch = newWatch(s.label, c.opts, func(ctx context.Context) error { return c.relist(ctx, s) }, c.notifyHost)
	s.life, s.end = context.WithCancel(c.roster.life)
	return s
}

// add opens a server for an open toolset.
func (c *connector) add(ctx context.Context, added *Server) error {
	if err := checkServer(added); err != nil {
		return err
	}
	if err := c.roster.reserve(added.Name); err != nil {
		return err
	}
	s := c.newServer(added, newServerState(c.opts, added))
	tools, err := c.join(ctx, s)
	if err != nil {
		return err
	}
	c.watchServer(s)
	c.notifyHost(Event{Server: s.label, Kind: ServerAdded, Added: toolNames(tools)})
	return nil
}

// join opens a server whose name is reserved, and adds it to the roster.
func (c *connector) join(ctx context.Context, s *server) ([]*Tool, error) {
	defer c.roster.background.Done() // see reserve
	ctx, cancel := c.roster.withLife(ctx)
	defer cancel()
	err := c.openOrRecall(ctx, s)
	tools := s.tools // once the server has joined, the lock of the roster guards them
	if err := c.roster.add(s, err); err != nil {
		_ = s.close()
		return nil, err
	}
	return tools, nil
}

// watchServer starts to watch a server that has joined the toolset.
func (c *connector) watchServer(s *server) {
	close(s.watch.joined)
	c.keepConnected(s)
}
