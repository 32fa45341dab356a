package mcpclient

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// SetLogLevel asks for log messages at level and above from here on, instead of
// [Options.LogLevel]; "" asks for none. A modern server is asked on every later
// request, and nothing is sent for that alone. A legacy one is told at once, and in
// every later session; it cannot be asked to be silent, so that "" asks it for
// [mcp.LogEmergency] only, if it was told another level. The error is a
// [*CapabilityError] where the server does not log.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	if level != "" && !level.Known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	return c.levels.ask(ctx, c.calls, level)
}

// logLevels knows which log messages are wanted.
type logLevels struct {
	peer    *peer
	call    func(ctx context.Context, by sender, r *request, result any, opts []CallOption) error
	initial mcp.LogLevel // Options.LogLevel

	level atomic.Pointer[mcp.LogLevel] // set while connected; nil for the initial one
	told  atomic.Pointer[mcp.LogLevel] // told to a legacy server; nil for none
}

// ask sets a level that the protocol has.
func (l *logLevels) ask(ctx context.Context, by sender, level mcp.LogLevel) error {
	if err := l.set(ctx, by, level); err != nil {
		return fmt.Errorf("set log level %q: %w", level, err)
	}
	return nil
}

func (l *logLevels) set(ctx context.Context, by sender, level mcp.LogLevel) error {
	const method = "logging/setLevel"
	if !l.peer.current().has(sessionLevel) {
		if level != "" && !l.peer.offered(requirement(method)) {
			return &CapabilityError{Method: method, Capability: requirement(method)}
		}
		l.level.Store(&level)
		return nil
	}
	told := level
	if told == "" {
		told = mcp.LogEmergency
	}
	if level != "" || l.known() != "" {
		params := []byte(`{"level":"` + string(told) + `"}`)
		if err := l.call(ctx, by, &request{method: method, params: params}, nil, nil); err != nil {
			return err
		}
		l.told.Store(&told)
	}
	l.level.Store(&level)
	return nil
}

// known is what a legacy server was told, "" for nothing.
func (l *logLevels) known() mcp.LogLevel {
	if level := l.told.Load(); level != nil {
		return *level
	}
	return ""
}

// wanted is what the server is asked for, "" for nothing.
func (l *logLevels) wanted() mcp.LogLevel {
	if level := l.level.Load(); level != nil {
		return *level
	}
	return l.initial
}
