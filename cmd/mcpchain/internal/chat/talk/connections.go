package talk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

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
	joined     atomic.Bool // a server was added since the agent was made, other than at the person's request
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
	c.report(slices.Concat(c.configured.Wrong, c.statuses()))
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
			c.joined.Store(true)
			c.screen.Note(screen.Faint, "the server %s is there now; the next question can use its tools", e.Server)
		}
	}
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
