package adapter

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// SetLogLevel asks all servers with logging for messages of this level and above, "" for none, as
// [mcpclient.Client.SetLogLevel] does, and later added servers, too. The messages arrive at
// OnNotification of the connection's options. The error joins the errors of the servers that
// refused.
func (t *Toolset) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	if level != "" && !level.Known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	t.connector.level.Store(&level)
	return concurrently(t.Servers(), func(s ServerStatus) error {
		if s.Client == nil {
			return nil
		}
		if err := setLogLevel(ctx, s.Client, level); err != nil {
			return fmt.Errorf("server %q: %w", s.Name, err)
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
