package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// logLevels are the level that the host wants, and whether a legacy server was sent one.
type logLevels struct {
	*peer

	level   atomic.Pointer[mcp.LogLevel] // set while connected; nil: Options.LogLevel
	wasSent atomic.Bool                  // a legacy server was sent a level
}

// SetLogLevel asks for log messages at this level and above from now on, instead of
// [Options.LogLevel]; "" asks for none. A modern server gets the level with every later request. A
// legacy one gets it immediately, and in every later session; as it has no level for silence, ""
// asks it for "emergency" if it got another level before. The error matches
// [ErrUndeclared] if the server has no logging.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	if level != "" && !inquiry.IsLevel(level) {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	return c.levels.setLevel(ctx, c.caller.calls, level)
}

// setLevel sets a valid level, and names it in the error.
func (l *logLevels) setLevel(ctx context.Context, p pipeline, level mcp.LogLevel) error {
	if err := l.trySet(ctx, p, level); err != nil {
		return fmt.Errorf("set log level %q: %w", level, err)
	}
	return nil
}

// trySet records the level, and sends it to a legacy server. "" asks for no messages: as legacy
// servers have no level for that, it sends the highest one, if it has sent a level before.
func (l *logLevels) trySet(ctx context.Context, p pipeline, level mcp.LogLevel) error {
	const method = "logging/setLevel"
	if !l.peer.current().has(sessionLevel) {
		if level != "" {
			if err := l.peer.checkOffered(method); err != nil {
				return err
			}
		}
		l.level.Store(&level)
		return nil
	}
	sent := level
	sent = cmp.Or(sent, "emergency")
	if level != "" || l.wasSent.Load() {
		params := []byte(`{"level":"` + string(sent) + `"}`)
		err := p.do(ctx, &request{method: method, params: params}, nil, nil)
		switch {
		case errors.Is(err, errEraBound): // the server has become modern meanwhile
			return l.trySet(ctx, p, level)
		case err != nil:
			return err
		}
		l.wasSent.Store(true)
	}
	l.level.Store(&level)
	return nil
}

func (l *logLevels) requestedLevel() mcp.LogLevel {
	if level := l.level.Load(); level != nil {
		return *level
	}
	return l.peer.logLevel
}
