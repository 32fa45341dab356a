package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// SetLogLevel asks all servers that log for messages at level and above from here
// on, "" for none, as [mcpclient.Client.SetLogLevel] does; servers that are added
// later are asked, too. The messages arrive at OnNotification of the options of the
// connection. The error joins the errors of servers that refused.
func (t *Toolset) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	if level != "" && !level.Known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	t.connector.level.Store(&level)
	servers := t.Servers()
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		if s.Client == nil {
			continue
		}
		wg.Go(func() {
			if err := setLogLevel(ctx, s.Client, level); err != nil {
				errs[i] = fmt.Errorf("server %q: %w", s.Name, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// setLogLevel asks a server that logs.
func setLogLevel(ctx context.Context, c *mcpclient.Client, level mcp.LogLevel) error {
	if c.Server().Capabilities.Logging == nil {
		return nil
	}
	return c.SetLogLevel(ctx, level)
}
