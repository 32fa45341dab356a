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
func (l *Servers) manage(ctx context.Context, argument string) error {
	if argument == "" {
		l.list()
		return nil
	}
	word, name, _ := strings.Cut(argument, " ")
	if word != "restart" {
		return errors.New("usage: /servers, or /servers restart NAME")
	}
	name = strings.TrimSpace(name)
	if name == "" && len(l.Good) == 1 {
		name = l.Good[0].Name
	}
	return l.restart(ctx, name)
}

// list lists the servers with their states and addresses.
func (l *Servers) list() {
	for _, server := range l.allStatuses() {
		style, state := l.describe(&server)
		l.screen.List(style, "%s (%s): %s", server.Name, l.describeAddress(server.Name), hosttext.Line(state, 500))
	}
	if len(l.Names()) == 0 {
		l.screen.List(screen.Faint, "there are no servers")
	}
}

// describe returns the state of a server for the list, and the style of its line.
func (l *Servers) describe(server *adapter.ServerStatus) (style screen.Style, state string) {
	switch down := l.lostReason(server.Name); {
	case errors.Is(server.Err, adapter.ErrConnecting):
		return screen.Faint, "is being connected to"
	case server.Err != nil:
		return screen.Fail, "left out: " + l.explain(server).Error()
	case server.Ended != nil:
		return screen.Fail, "gone: " + server.Ended.Error()
	case down != nil:
		return screen.Warn, "lost, and being started again: " + down.Error()
	}
	revision := strings.TrimPrefix(revisionOf(server), "protocol ")
	state = fmt.Sprintf("ready, %s, %s", revision, cli.Plural(len(server.Tools), "tool"))
	if n := len(server.Skipped); n > 0 {
		state += fmt.Sprintf(", %d left out", n)
	}
	return screen.Tool, state
}

// allStatuses returns all servers in the order of the configuration, also those that a restart did not reach.
func (l *Servers) allStatuses() []adapter.ServerStatus {
	all := slices.Clone(l.Wrong)
	for _, server := range l.Good {
		open := l.status(server.Name)
		if open == nil {
			why := cmp.Or(l.lostReason(server.Name), errors.New("not connected"))
			open = &adapter.ServerStatus{Name: server.Name, Err: why}
		}
		all = append(all, *open)
	}
	return all
}

// restart connects to a server again.
func (l *Servers) restart(ctx context.Context, name string) error {
	server := l.find(name)
	if server == nil {
		return l.unknownServer(name)
	}
	l.screen.Progress("connecting to %s …", name)
	_ = l.toolset.Remove(name) // an error tells how the old connection ended, or that there was none
	l.lost.Delete(name)        // after the end of the old connection was noted
	if err := l.add(ctx, server); err != nil {
		l.lost.Store(name, err)
		return err
	}
	return l.afterConnect(ctx, name, "server")
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

// completeRestart completes the argument of /servers.
func (l *Servers) completeRestart(_ context.Context, argument string) (list screen.Completion) {
	word, _, found := strings.Cut(argument, " ")
	if !found || word != "restart" {
		list.Items = addItem(nil, "restart", "connect to a server again", false)
		return list
	}
	list.From = len("restart ")
	for _, server := range l.Good {
		list.Items = addItem(list.Items, server.Name, l.describeAddress(server.Name), false)
	}
	return list
}
