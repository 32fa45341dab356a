package adapter

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// connector connects the servers of a toolset and lists their tools. It replaces connections
// that are lost, idle, or need another protocol revision.
type connector struct {
	opts     *Options
	roster   *roster
	lender   *lender
	reporter *reporter
	calls    *calls // runs calls of the tools
	schemas  schema.Cache
}

// newServer returns a server of this toolset.
func (c *connector) newServer(state *serverState) *server {
	s := &server{state: state, pins: state.recipe.Pins}
	s.watch = newWatch(state.label, c.opts, func(ctx context.Context) error { return c.relistAnnounced(ctx, s) })
	s.life, s.end = context.WithCancel(c.roster.life)
	return s
}

// add opens a server for an open toolset.
func (c *connector) add(ctx context.Context, added *Server) error {
	s, err := c.addPlaceholder(added)
	if err != nil {
		return err
	}
	err = c.changeServer(ctx, s, func(ctx context.Context) (*Event, error) {
		return c.reconnect(ctx, s, ServerAdded, c.openOrRecall)
	})
	if err != nil {
		c.roster.remove(func(other *server) bool { return other == s })
	}
	return err
}

// ErrConnecting is the error of a server that is being opened: by [Toolset.Add], or by Open if it did not wait for the server,
// see [Options.OpenWait].
var ErrConnecting = errors.New("connection is still being made")

// addPlaceholder adds a server that is still to be opened, and then to be replaced by the open one.
func (c *connector) addPlaceholder(added *Server) (*server, error) {
	if err := checkServer(added); err != nil {
		return nil, err
	}
	s := c.newServer(newServerState(c.opts, added))
	s.err = fmt.Errorf("server %q: %w", added.Name, ErrConnecting)
	return s, c.roster.add(s)
}

// watchServer starts to watch a server that has joined the toolset.
func (c *connector) watchServer(s *server) {
	close(s.watch.joined)
	c.lender.closeWhenIdle(s)
	c.keepConnected(s)
}

// keepConnected reconnects a server of the toolset once its connection ends by itself, or now if it could not be opened.
// The new connection has a keepConnected of its own. No person is asked to sign in.
func (c *connector) keepConnected(s *server) {
	if c.opts.retryWait < 0 || s.dormant {
		return
	}
	c.roster.start(func() {
		if !c.awaitLoss(s) {
			return
		}
		waits := backoff.Policy{Max: c.opts.retryWait}
		life := backoff.Unattended(c.roster.life)
		for n := 0; ; n++ {
			if backoff.Sleep(life, waits.Delay(n)) != nil {
				return
			}
			c.reporter.settle(life) // see relistAnnounced
			err := c.refresh(life, s)
			if err == nil || c.roster.life.Err() != nil || errors.Is(err, transport.ErrDialedOnce) {
				return // it was replaced or removed, or cannot be reconnected
			}
			c.opts.Logger.Debug("a server is not there yet", "server", s.state.label, "attempt", n+1, "error", err)
		}
	})
}

// awaitLoss waits for the end of the server's connection, and reports it to the host. It returns
// whether the connection ended by itself, which is true for a server that could not be opened.
func (c *connector) awaitLoss(s *server) bool {
	if s.client == nil {
		return true
	}
	ended := make(chan struct{})
	if s.client.AfterEnd(func(error) { close(ended) }) {
		select {
		case <-ended:
		case <-s.life.Done():
		}
	}
	err := s.client.Err()
	if s.life.Err() != nil || err == mcpclient.ErrClosed { // closed here; the error of a lost connection only wraps ErrClosed
		return false
	}
	c.opts.Logger.Warn("a server is lost", "server", s.state.label, "error", err)
	_ = c.changeServer(c.roster.life, s, func(context.Context) (*Event, error) {
		return &Event{Server: s.state.label, Kind: ServerLost, Err: fmt.Errorf("server %q: %w", s.state.label, err)}, nil
	})
	return true
}
