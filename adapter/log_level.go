package adapter

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// SetLogLevel asks all servers with logging for messages of this level and above, "" for none, as
// [mcpclient.Client.SetLogLevel] does, on present and later connections. The messages arrive at
// OnNotification of the connection's options. The error joins the errors of the servers that
// refused.
func (t *Toolset) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	if level != "" && !level.Known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	t.connector.level.Store(&level)
	r := t.roster
	r.mu.Lock()
	connected := slices.DeleteFunc(slices.Concat(r.servers, t.lender.connsLocked()), func(s *server) bool {
		return !s.isOpened() || s.err != nil || s.client == nil
	})
	r.mu.Unlock()
	return concurrently(connected, func(s *server) error {
		if err := setLogLevel(ctx, s.client, level); err != nil {
			return fmt.Errorf("server %q: %w", s.label, err)
		}
		return nil
	})
}

// setLogLevel asks one server, if it has logging.
func setLogLevel(ctx context.Context, c *mcpclient.Client, level mcp.LogLevel) error {
	if c.Server().Capabilities.Logging == nil {
		return nil
	}
	return c.SetLogLevel(ctx, level)
}

// setLogLevel is the function of this name for a server that joins the toolset. An error is logged.
func (c *connector) setLogLevel(ctx context.Context, s *server, level mcp.LogLevel) {
	if err := setLogLevel(ctx, s.client, level); err != nil && ctx.Err() == nil {
		c.opts.Logger.Warn("could not set the log level of a server", "server", s.label, "error", err)
	}
}

// onJoin is called when a connection has joined the toolset. It lets the watch report changes, and
// sets the level of a SetLogLevel that did not find the connection yet.
func (c *connector) onJoin(s *server) {
	close(s.watch.joined)
	if s.client == nil || c.level.Load() == s.level {
		return
	}
	c.roster.start(func() {
		for set := s.level; c.level.Load() != set && s.life.Err() == nil; {
			set = c.level.Load()
			c.setLogLevel(s.life, s, *set)
		}
	})
}
