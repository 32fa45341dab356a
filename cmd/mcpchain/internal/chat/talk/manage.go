package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
)

// manage is the command /servers.
func (c *connections) manage(ctx context.Context, argument string) error {
	if argument == "" {
		c.list()
		return nil
	}
	word, name, _ := strings.Cut(argument, " ")
	if word != "restart" {
		return errors.New("usage: /servers, or /servers restart NAME")
	}
	name = strings.TrimSpace(name)
	if name == "" && len(c.configured.Good) == 1 {
		name = c.configured.Good[0].Name
	}
	return c.restart(ctx, name)
}

// list lists the servers with their states and addresses.
func (c *connections) list() {
	for _, server := range c.allStatuses() {
		style, state := c.describe(&server)
		c.screen.List(style, "%s (%s): %s", server.Name, c.configured.describeAddress(server.Name), hosttext.Line(state, 500))
	}
	if len(c.configured.Names()) == 0 {
		c.screen.List(screen.Faint, "there are no servers")
	}
}

// describe returns the state of a server for the list, and the style of its line.
func (c *connections) describe(server *adapter.ServerStatus) (style screen.Style, state string) {
	switch down := c.configured.health.reason(server.Name); {
	case errors.Is(server.Err, adapter.ErrConnecting):
		return screen.Faint, "is being connected to"
	case server.Err != nil:
		return screen.Fail, "left out: " + c.configured.explain(server).Error()
	case server.Ended != nil:
		return screen.Fail, "gone: " + server.Ended.Error()
	case down != nil:
		return screen.Warn, "lost, and being started again: " + down.Error()
	}
	revision := strings.TrimPrefix(revisionOf(*server), "protocol ")
	state = fmt.Sprintf("ready, %s, %s", revision, cli.Plural(len(server.Tools), "tool"))
	if n := len(server.Skipped); n > 0 {
		state += fmt.Sprintf(", %d left out", n)
	}
	return screen.Tool, state
}

// allStatuses returns all servers in the order of the configuration, also those that a restart
// did not reach.
func (c *connections) allStatuses() (all []adapter.ServerStatus) {
	all = append(all, c.configured.Wrong...)
	open := c.statuses()
	for _, server := range c.configured.Good {
		i := slices.IndexFunc(open, func(o adapter.ServerStatus) bool { return o.Name == server.Name })
		if i >= 0 {
			all = append(all, open[i])
			continue
		}
		why := cmp.Or(c.configured.health.reason(server.Name), errors.New("not connected"))
		all = append(all, adapter.ServerStatus{Name: server.Name, Err: why})
	}
	return all
}

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
	names := strings.Join(serverNames(l.Good), ", ")
	switch {
	case names == "":
		return errors.New("there are no servers")
	case name == "":
		return fmt.Errorf("name a server to restart; there are %s", names)
	}
	return fmt.Errorf("no server %s to restart; there are %s", hosttext.Line(name, 80), names)
}

// complete completes the argument of /servers.
func (c *connections) complete(_ context.Context, argument string) (list screen.Completion) {
	word, _, found := strings.Cut(argument, " ")
	if !found || word != "restart" {
		list.Items = addItem(nil, "restart", "connect to a server again", false)
		return list
	}
	list.From = len("restart ")
	for _, server := range c.configured.Good {
		list.Items = addItem(list.Items, server.Name, c.configured.describeAddress(server.Name), false)
	}
	return list
}
