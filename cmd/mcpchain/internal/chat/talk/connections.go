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
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// connect connects to the servers, and reports those that cannot be used. It asks the person to
// sign in where a server requires that.
func (l *Servers) connect(ctx context.Context) error {
	if names := serverNames(l.Good); len(names) > 0 {
		l.screen.Progress("connecting to %s …", strings.Join(names, ", "))
	}
	options := &adapter.Options{
		Policy:   adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: l.ConnectTimeout},
		OpenWait: l.Patience,
		ListDir:  l.Lists,
		OnChange: l.onChange,
	}
	if l.Decisions != "" {
		options.Decisions = approval.NewFiles(l.Decisions)
	}
	toolset, err := adapter.Open(ctx, l.Good, options)
	if err != nil {
		l.screen.End()
		return err
	}
	l.toolset = toolset
	if err := l.signInAtStart(ctx); err != nil {
		return err
	}
	l.report(slices.Concat(l.Wrong, toolset.Servers()))
	if len(toolset.Catalog(profile.Plain).Tools()) == 0 {
		l.screen.Note(screen.Warn, "there are no tools; the model answers alone")
	}
	return nil
}

// report tells the person the state of servers, and what is left out. If no server is reached, each of them counts as a
// failure.
func (l *Servers) report(servers []adapter.ServerStatus) {
	reached := 0
	for _, server := range servers {
		switch {
		case errors.Is(server.Err, adapter.ErrConnecting):
			l.screen.Note(screen.Faint, "server %s: is still being connected to, and joins when it is ready", server.Name)
			reached++
			continue
		case server.Err != nil:
			l.screen.Note(screen.Fail, "left out: %v", l.explain(&server))
			continue
		}
		reached++
		l.screen.Note(screen.Faint, "server %s: %s, %s",
			server.Name, cli.Plural(len(server.Tools), "tool"), revisionOf(&server))
		for _, tool := range slices.Sorted(maps.Keys(server.Skipped)) {
			l.screen.Note(screen.Warn, "left out: tool %s of server %s: %v",
				hosttext.Line(tool, 100), server.Name, server.Skipped[tool])
		}
		for _, name := range server.Unmatched {
			err := fmt.Errorf("has no tool %q, which the file allows or leaves out", name)
			l.screen.Note(screen.Warn, "%v", l.explain(&adapter.ServerStatus{Name: server.Name, Err: err}))
		}
	}
	if reached == 0 {
		l.person.Failures.Unreachable.Store(int64(len(servers)))
	}
}

// status returns the state of a server in the toolset, nil if it is not there, as after a restart that failed.
func (l *Servers) status(name string) *adapter.ServerStatus {
	open := l.toolset.Servers()
	if i := slices.IndexFunc(open, func(o adapter.ServerStatus) bool { return o.Name == name }); i >= 0 {
		return &open[i]
	}
	return nil
}

// revisionOf describes the protocol revision of a server, if it is connected.
func revisionOf(s *adapter.ServerStatus) string {
	if s.Client == nil {
		return "connected to by its first call"
	}
	return "protocol revision " + s.Client.Server().Revision
}

// onRestart tells the person when a server is lost and when it is back, but not about further failures between.
func (l *Servers) onRestart(server string) func(attempt int, why error) {
	return func(_ int, why error) {
		if why == nil {
			l.lost.Delete(server)
			l.screen.Note(screen.Faint, "the server %s is back", server)
			return
		}
		if _, died := errors.AsType[*transport.ProcessError](why); died {
			why = reason.Server{}.Explain(why) // without the server: its advice is for the first start
		}
		if _, wasLost := l.lost.Swap(server, why); !wasLost {
			l.screen.Note(screen.Fail, "lost the server %s, and start it again: %v", server, why)
		}
	}
}

// lostReason returns why a server is lost, nil if it is not.
func (l *Servers) lostReason(server string) error {
	why, _ := l.lost.Load(server)
	err, _ := why.(error)
	return err
}

// onChange tells the person about a change of a server, except about restarts, see onRestart.
func (l *Servers) onChange(e adapter.Event) {
	switch e.Kind {
	case adapter.RevisionChanged:
		l.screen.Note(screen.Faint, "the server %s asks in a way of an older revision of the protocol: "+
			"it is connected with %s from now on", e.Server, mcp.Revision20251125)
	case adapter.ServerLost:
		l.screen.Note(screen.Fail, "the server %s is given up for now: %v; "+
			"it is tried again from time to time, and by /servers restart %s", e.Server, errors.Unwrap(e.Err), e.Server)
	case adapter.ServerAdded:
		l.lost.Delete(e.Server)
		if _, asked := l.connecting.Load(e.Server); !asked { // else the command says so
			l.joined.Store(true)
			l.screen.Note(screen.Faint, "the server %s is there now; the next question can use its tools", e.Server)
		}
	}
}

// add connects to a server, also to one that is configured to be connected by its first call.
func (l *Servers) add(ctx context.Context, server *adapter.Server) error {
	l.connecting.Store(server.Name, true)
	defer l.connecting.Delete(server.Name)
	err := l.toolset.Add(ctx, *server)
	if err == nil && server.Policy.Start == adapter.StartLazy {
		err = l.toolset.Refresh(ctx, server.Name) // connects
	}
	if err == nil {
		return nil
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the text of Toolset.Add, which is for programmers
	}
	return l.explain(&adapter.ServerStatus{Name: server.Name, Err: err})
}

// afterConnect gives the model the instructions and skills of a server that was connected during
// the conversation. prefix begins the note about the server.
func (l *Servers) afterConnect(ctx context.Context, name, prefix string) error {
	if open := l.status(name); open != nil && open.Err == nil {
		l.screen.Note(screen.Faint, "%s %s: %s, %s",
			prefix, name, cli.Plural(len(open.Tools), "tool"), revisionOf(open))
	}
	return l.makeAgent(ctx)
}

// clients returns the clients of the connected servers by name.
func (l *Servers) clients() map[string]*mcpclient.Client {
	clients := map[string]*mcpclient.Client{}
	for _, server := range l.toolset.Servers() {
		if server.Err == nil && server.Ended == nil && server.Client != nil {
			clients[server.Name] = server.Client
		}
	}
	return clients
}

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
