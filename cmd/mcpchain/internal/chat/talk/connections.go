package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// connections are the connections of a conversation to its servers.
type connections struct {
	configured *Servers
	screen     screen.Screen
	failures   *person.Failures
	makeAgent  func(context.Context) error // with what the servers offer the model now
	toolset    *adapter.Toolset
}

// connect connects to the servers, and reports those that cannot be used. It asks the person to
// sign in where a server requires that.
func (c *connections) connect(ctx context.Context) error {
	if names := serverNames(c.configured.Good); len(names) > 0 {
		c.screen.Progress("connecting to %s …", strings.Join(names, ", "))
	}
	options := &adapter.Options{
		Policy:   adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: c.configured.ConnectTimeout},
		OpenWait: c.configured.Patience,
		ListDir:  c.configured.Lists,
		OnChange: c.onChange,
	}
	if c.configured.Decisions != "" {
		options.Decisions = approval.NewFiles(c.configured.Decisions)
	}
	toolset, err := adapter.Open(ctx, c.configured.Good, options)
	if err != nil {
		c.screen.End()
		return err
	}
	c.toolset = toolset
	if err := c.signInAtStart(ctx); err != nil {
		c.toolset.Close()
		return err
	}
	c.report(append(c.configured.Wrong, c.statuses()...))
	if len(toolset.Catalog(profile.Plain).Tools()) == 0 {
		c.screen.Note(screen.Warn, "there are no tools; the model answers alone")
	}
	return nil
}

// report tells the person the state of servers, and what is left out. If no server is reached, each of them counts as a
// failure.
func (c *connections) report(servers []adapter.ServerStatus) {
	ui := c.screen
	reached := 0
	for _, server := range servers {
		if errors.Is(server.Err, adapter.ErrConnecting) {
			ui.Note(screen.Faint, "server %s: is still being connected to, and joins when it is ready", server.Name)
			reached++
			continue
		}
		if server.Err != nil {
			ui.Note(screen.Fail, "left out: %v", c.configured.explain(&server))
			continue
		}
		reached++
		ui.Note(screen.Faint, "server %s: %s, %s",
			server.Name, cli.Plural(len(server.Tools), "tool"), revisionOf(server))
		for _, tool := range slices.Sorted(maps.Keys(server.Skipped)) {
			ui.Note(screen.Warn, "left out: tool %s of server %s: %v",
				hosttext.Line(tool, 100), server.Name, server.Skipped[tool])
		}
		for _, name := range server.Unmatched {
			err := fmt.Errorf("has no tool %q, which the file allows or leaves out", name)
			ui.Note(screen.Warn, "%v", c.configured.explain(&adapter.ServerStatus{Name: server.Name, Err: err}))
		}
	}
	if reached == 0 {
		c.failures.Unreachable.Store(int64(len(servers)))
	}
}

// statuses returns the servers that are or were connected.
func (c *connections) statuses() []adapter.ServerStatus { return c.toolset.Servers() }

// onChange tells the person about a change of a server, except about restarts, see onRestart.
func (c *connections) onChange(e adapter.Event) {
	switch e.Kind {
	case adapter.RevisionChanged:
		c.screen.Note(screen.Faint, "the server %s asks in a way of an older revision of the protocol: "+
			"it is connected with %s from now on", e.Server, mcp.Revision20251125)
	case adapter.ServerLost:
		c.screen.Note(screen.Fail, "the server %s is given up for now: %v; "+
			"it is tried again from time to time, and by /servers restart %s", e.Server, errors.Unwrap(e.Err), e.Server)
	case adapter.ServerAdded:
		c.configured.health.set(e.Server, nil)
		if !c.configured.health.isConnecting(e.Server) { // else the command says so
			c.screen.Note(screen.Faint, "the server %s is there now; the next question can use its tools", e.Server)
		}
	}
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

// manage is the command /servers.
func (c *connections) manage(ctx context.Context, argument string) error {
	word, name, _ := strings.Cut(argument, " ")
	switch name = strings.TrimSpace(name); {
	case argument == "":
		c.list()
		return nil
	case word != "restart":
		return errors.New("usage: /servers, or /servers restart NAME")
	case name == "" && len(c.configured.Good) == 1:
		name = c.configured.Good[0].Name
	}
	return c.restart(ctx, name)
}

// list lists the servers with their states and addresses.
func (c *connections) list() {
	for _, server := range c.allStatuses() {
		state, style := "", screen.Tool
		switch down := c.configured.health.reason(server.Name); {
		case errors.Is(server.Err, adapter.ErrConnecting):
			style, state = screen.Faint, "is being connected to"
		case server.Err != nil:
			style, state = screen.Fail, "left out: "+c.configured.explain(&server).Error()
		case server.Ended != nil:
			style, state = screen.Fail, "gone: "+server.Ended.Error()
		case down != nil:
			style, state = screen.Warn, "lost, and being started again: "+down.Error()
		default:
			revision := strings.TrimPrefix(revisionOf(server), "protocol ")
			state = fmt.Sprintf("ready, %s, %s", revision, cli.Plural(len(server.Tools), "tool"))
			if n := len(server.Skipped); n > 0 {
				state += fmt.Sprintf(", %d left out", n)
			}
		}
		c.screen.List(style, "%s (%s): %s", server.Name, c.configured.describeAddress(server.Name), hosttext.Line(state, 500))
	}
	if len(c.configured.Names()) == 0 {
		c.screen.List(screen.Faint, "there are no servers")
	}
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

// afterConnect gives the model the instructions and skills of a server that was connected during
// the conversation. prefix begins the note about the server.
func (c *connections) afterConnect(ctx context.Context, name, prefix string) error {
	for _, open := range c.statuses() {
		if open.Name == name && open.Err == nil {
			c.screen.Note(screen.Faint, "%s %s: %s, %s",
				prefix, name, cli.Plural(len(open.Tools), "tool"), revisionOf(open))
		}
	}
	return c.makeAgent(ctx)
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

// clients returns the clients of the connected servers by name.
func (c *connections) clients() map[string]*mcpclient.Client {
	clients := map[string]*mcpclient.Client{}
	for _, server := range c.statuses() {
		if server.Err == nil && server.Ended == nil && server.Client != nil {
			clients[server.Name] = server.Client
		}
	}
	return clients
}
