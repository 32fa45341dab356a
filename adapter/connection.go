package adapter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// server is one connection to a server, or the failed attempt to connect. A reconnect is a new server.
type server struct {
	state  *serverState // shared by all connections to the server
	client *mcpclient.Client
	watch  *watch

	life context.Context // the context of the watch goroutine
	end  context.CancelFunc

	// Guarded by the lock of the roster once the server is in the toolset.
	err error
	listing
	pins          map[string]string      // nil: not pinned; except for a user, replaced only by the holder of serverState.changing
	uses          int                    // current calls
	retired       bool                   // close it when uses drops to 0
	dormant       bool                   // not connected before its first call, see StartLazy
	openQuestions int                    // questions of the server that are being answered
	callers       map[*caller.Caller]int // how many current calls each has
	lastCaller    *caller.Caller         // the caller of the last call
	idle          *time.Timer            // closes it when it has been idle for long

	// Only for the connection of one user, see pool.
	user     string
	seen     int           // serverState.changes when its tools were listed
	replaces *server       // the connection to close before this one is opened
	ready    chan struct{} // closed when it is open, or err is set
}

// open connects to a server that is to join the toolset, and lists its tools. If it fails, it
// closes what it opened, and the error names the server.
func (c *connector) open(ctx context.Context, s *server) error {
	ctx, cancel := s.state.policy.connectContext(ctx)
	defer cancel()
	l, err := c.connectAndList(ctx, s)
	if err != nil {
		_ = s.close()
		return fmt.Errorf("server %q: %w", s.state.label, err)
	}
	s.pins = l.applyPins(s, s.pins)
	s.listing = l
	if s.isLazy() && s.ready == nil { // the remembered tools have no connection of their own
		s.state.live.Store(s.client)
	}
	return nil
}

// connectAndList connects to the server, subscribes to its changes and lists its tools. In this
// order no change is missed.
func (c *connector) connectAndList(ctx context.Context, s *server) (l listing, err error) {
	if s.client, err = mcpclient.Connect(ctx, s.state.recipe.Transport, c.connectOptions(s)); err != nil {
		return l, err
	}
	if !c.roster.start(func() { s.watch.run(s.life, s.client) }) {
		return l, errToolsetClosed
	}
	s.watch.awaitSubscription(ctx)
	return c.list(ctx, s)
}

// connectOptions returns the options for connecting to the server.
func (c *connector) connectOptions(s *server) *mcpclient.Options {
	question := func(ctx context.Context) func(error) { return c.lender.question(ctx, s) }
	opts := withNotifications(withQuestions(c.hostOptions(s), s.state.label, question), s.watch.notify)
	opts.Protocol.Revision = cmp.Or(s.state.recipe.Revision, opts.Protocol.Revision)
	if s.state.useOlder.Load() {
		opts.Protocol.Revision = mcp.Revision20251125
	}
	if s.state.recipe.ClientOptions == nil && opts.Logger != nil { // one logger for several servers
		opts.Logger = opts.Logger.With("server", s.state.label)
	}
	return opts
}

// hostOptions returns the host's options for the connection, or nil.
func (c *connector) hostOptions(s *server) *mcpclient.Options {
	if s.state.recipe.ClientOptions != nil {
		return s.state.recipe.ClientOptions
	}
	return c.opts.ClientOptions
}

// withNotifications adds to options a handler of notifications that runs before the host's.
func withNotifications(opts *mcpclient.Options, notify func(*mcp.Notification)) *mcpclient.Options {
	next := opts.OnNotification
	opts.OnNotification = func(n *mcp.Notification) {
		notify(n)
		if next != nil {
			next(n)
		}
	}
	return opts
}

// close ends the watch and the connection.
func (s *server) close() error {
	s.end()
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}
