package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// health records which servers are lost. Its methods may be called concurrently.
type health struct {
	down       sync.Map // by the name of a server: the error that says why it is lost
	connecting sync.Map // names of servers that are being connected at the person's request
}

// beginConnect notes that the person wants a server to be connected, until done is called.
func (h *health) beginConnect(server string) (done func()) {
	h.connecting.Store(server, true)
	return func() { h.connecting.Delete(server) }
}

// isConnecting reports whether a server is being connected at the person's request.
func (h *health) isConnecting(server string) bool {
	_, connecting := h.connecting.Load(server)
	return connecting
}

// set notes that a server is lost because of err; nil: that it is not.
func (h *health) set(server string, err error) {
	if err == nil {
		h.down.Delete(server)
		return
	}
	h.down.Store(server, err)
}

// reason returns why a server is lost, nil if it is not.
func (h *health) reason(server string) error {
	err, _ := h.down.Load(server)
	why, _ := err.(error)
	return why
}

// restartOptions returns options by which a server that dies is started again. The person is told
// when it is lost and when it is back, but not about further failures between.
func (l *Servers) restartOptions(server string, s screen.Screen) *mcpclient.Restart {
	return &mcpclient.Restart{Notify: func(_ int, why error) {
		wasLost := l.health.reason(server) != nil
		if _, died := errors.AsType[*transport.ProcessError](why); died {
			why = reason.Server{}.Explain(why) // without the server: its advice is for the first start
		}
		l.health.set(server, why)
		switch {
		case why == nil:
			s.Note(screen.Faint, "the server %s is back", server)
		case !wasLost:
			s.Note(screen.Fail, "lost the server %s, and start it again: %v", server, why)
		}
	}}
}

// onChange tells the person about a change of a server, except about restarts, see restartOptions.
func (s *Session) onChange(e adapter.Event) {
	switch e.Kind {
	case adapter.RevisionChanged:
		s.Screen.Note(screen.Faint, "the server %s asks in a way of an older revision of the protocol: "+
			"it is connected with %s from now on", e.Server, mcp.Revision20251125)
	case adapter.ServerLost:
		s.Screen.Note(screen.Fail, "the server %s is given up for now: %v; "+
			"it is tried again from time to time, and by /servers restart %s", e.Server, errors.Unwrap(e.Err), e.Server)
	case adapter.ServerAdded:
		if !s.Servers.health.isConnecting(e.Server) { // else the command says so
			s.Screen.Note(screen.Faint, "the server %s is there now; the next question can use its tools", e.Server)
		}
	case adapter.ServerReturned:
		s.Servers.health.set(e.Server, nil)
		s.Screen.Note(screen.Faint, "the server %s is back", e.Server)
	}
}

// serverStatuses returns all servers in the order of the configuration, also those that a restart
// did not reach.
func (s *Session) serverStatuses() (all []adapter.ServerStatus) {
	all = append(all, s.Servers.Wrong...)
	open := s.tools.Servers()
	for _, server := range s.Servers.Good {
		i := slices.IndexFunc(open, func(o adapter.ServerStatus) bool { return o.Name == server.Name })
		if i >= 0 {
			all = append(all, open[i])
			continue
		}
		why := cmp.Or(s.Servers.health.reason(server.Name), errors.New("not connected"))
		all = append(all, adapter.ServerStatus{Name: server.Name, Err: why})
	}
	return all
}

// manageServers is the command /servers.
func (s *Session) manageServers(ctx context.Context, argument string) error {
	word, name, _ := strings.Cut(argument, " ")
	switch name = strings.TrimSpace(name); {
	case argument == "":
		s.listServers()
		return nil
	case word != "restart":
		return errors.New("usage: /servers, or /servers restart NAME")
	case name == "" && len(s.Servers.Good) == 1:
		name = s.Servers.Good[0].Name
	}
	return s.restartServer(ctx, name)
}

// listServers lists the servers with their states and addresses.
func (s *Session) listServers() {
	for _, server := range s.serverStatuses() {
		state, style := "", screen.Tool
		switch down := s.Servers.health.reason(server.Name); {
		case errors.Is(server.Err, adapter.ErrConnecting):
			style, state = screen.Faint, "is being connected to"
		case server.Err != nil:
			style, state = screen.Fail, "left out: "+s.Servers.explain(&server).Error()
		case server.Ended != nil:
			style, state = screen.Fail, "gone: "+server.Ended.Error()
		case down != nil:
			style, state = screen.Warn, "lost, and being started again: "+down.Error()
		default:
			revision := strings.TrimPrefix(revisionOf(server), "protocol ")
			state = fmt.Sprintf("ready, %s, %s", revision, screen.Plural(len(server.Tools), "tool"))
			if n := len(server.Skipped); n > 0 {
				state += fmt.Sprintf(", %d left out", n)
			}
		}
		s.Screen.List(style, "%s (%s): %s", server.Name, s.describeAddress(server.Name), hosttext.Line(state, 500))
	}
	if len(s.Servers.Names()) == 0 {
		s.Screen.List(screen.Faint, "there are no servers")
	}
}

// describeAddress says how a server is reached, without anything that may be secret.
func (s *Session) describeAddress(server string) string {
	switch t := s.Servers.transport(server).(type) {
	case *mcpclient.Command:
		return "stdio, " + hosttext.Line(t.Path, 100)
	case *mcpclient.HTTP:
		if t.SSE {
			return "HTTP with SSE, " + models.PublicURL(t.URL)
		}
		return "HTTP, " + models.PublicURL(t.URL)
	}
	return "not tried"
}

// afterConnect gives the model the instructions and skills of a server that was connected during
// the conversation. prefix begins the note about the server.
func (s *Session) afterConnect(ctx context.Context, name, prefix string) error {
	for _, open := range s.tools.Servers() {
		if open.Name == name && open.Err == nil {
			s.Screen.Note(screen.Faint, "%s %s: %s, %s",
				prefix, name, screen.Plural(len(open.Tools), "tool"), revisionOf(open))
		}
	}
	return s.makeAgent(ctx)
}

// completeServers completes the argument of /servers.
func (s *Session) completeServers(_ context.Context, argument string) (c screen.Completion) {
	word, _, found := strings.Cut(argument, " ")
	if !found || word != "restart" {
		c.Items = addItem(nil, "restart", "connect to a server again", false)
		return c
	}
	c.From = len("restart ")
	for _, server := range s.Servers.current() {
		c.Items = addItem(c.Items, server.Name, s.describeAddress(server.Name), false)
	}
	return c
}

// openClients returns the clients of the connected servers by name.
func (s *Session) openClients() map[string]*mcpclient.Client {
	clients := map[string]*mcpclient.Client{}
	for _, server := range s.tools.Servers() {
		if server.Err == nil && server.Ended == nil && server.Client != nil {
			clients[server.Name] = server.Client
		}
	}
	return clients
}
