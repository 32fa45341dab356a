package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/hosttext"
)

// restart connects to a server again.
func (c *connections) restart(ctx context.Context, name string) error {
	i := indexOf(c.configured.Good, name)
	if i < 0 {
		return c.configured.unknownServer(name)
	}
	c.screen.Progress("connecting to %s …", name)
	for _, open := range c.statuses() {
		if open.Name == name {
			_ = c.toolset.Remove(name) // an error tells how the old connection ended
		}
	}
	c.configured.health.set(name, nil) // after the end of the old connection was noted
	if err := c.add(ctx, c.configured.Good[i]); err != nil {
		c.configured.health.set(name, err)
		return err
	}
	return c.afterConnect(ctx, name, "server")
}

// add connects to a server, also to one that is configured to be connected by its first call.
func (c *connections) add(ctx context.Context, server adapter.Server) error {
	defer c.configured.health.beginConnect(server.Name)()
	err := c.toolset.Add(ctx, server)
	if err == nil && server.Policy.Start == adapter.StartLazy {
		err = c.toolset.Refresh(ctx, server.Name) // connects
	}
	if err == nil {
		return nil
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the text of Toolset.Add, which is for programmers
	}
	return c.configured.explain(&adapter.ServerStatus{Name: server.Name, Err: err})
}

// unknownServer returns why a server cannot be restarted.
func (l *Servers) unknownServer(name string) error {
	for _, wrong := range l.Wrong {
		if wrong.Name == name {
			return wrong.Err
		}
	}
	if entry := l.entry(name); entry != nil {
		return entry.Annotate(errors.New("is disabled, and is not started"))
	}
	return fmt.Errorf("no server %s to restart; there are %s",
		hosttext.Line(name, 80), strings.Join(serverNames(l.Good), ", "))
}
