package mcpclient

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// SetLogLevel asks for log messages at level and above from here on, in the place of
// [Options.LogLevel]; "" asks for none. A modern server is asked on every later
// request, and nothing is sent for that alone. A legacy one is told at once, and in
// every later session; it cannot be asked to be silent, so that "" asks it for
// [mcp.LogEmergency] only, if it was told another level. The error is a
// [*CapabilityError] where the server does not log.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	if level != "" && !level.Known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	return c.askLogLevel(ctx, c.calls, level)
}

// askLogLevel sets a level that the protocol has.
func (c *Client) askLogLevel(ctx context.Context, by sender, level mcp.LogLevel) error {
	if err := c.setLogLevel(ctx, by, level); err != nil {
		return fmt.Errorf("set log level %q: %w", level, err)
	}
	return nil
}

func (c *Client) setLogLevel(ctx context.Context, by sender, level mcp.LogLevel) error {
	const method = "logging/setLevel"
	if !c.current().has(sessionLevel) {
		if level != "" && !c.offered(requirement(method)) {
			return &CapabilityError{Method: method, Capability: requirement(method)}
		}
		c.level.Store(&level)
		return nil
	}
	told := level
	if told == "" {
		told = mcp.LogEmergency
	}
	if level != "" || c.toldLevel() != "" {
		params := []byte(`{"level":"` + string(told) + `"}`)
		if err := c.call(ctx, by, &request{method: method, params: params}, nil, nil); err != nil {
			return err
		}
		c.told.Store(&told)
	}
	c.level.Store(&level)
	return nil
}

// toldLevel is what a legacy server was told, "" for nothing.
func (c *Client) toldLevel() mcp.LogLevel {
	if level := c.told.Load(); level != nil {
		return *level
	}
	return ""
}

// logLevel is what the server is asked for, "" for nothing.
func (c *Client) logLevel() mcp.LogLevel {
	if level := c.level.Load(); level != nil {
		return *level
	}
	return c.opts.LogLevel
}
