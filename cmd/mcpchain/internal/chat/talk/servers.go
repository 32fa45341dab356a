package talk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demo"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// Servers are the servers of a conversation, and the connections to them.
type Servers struct {
	Good  []adapter.Server
	Wrong []adapter.ServerStatus // servers with mistakes in the configuration

	ConnectTimeout time.Duration      // for each server to get ready
	Timeouts       mcpclient.Timeouts // of calls

	// Patience is how long the start waits for other servers once one is ready. 0 waits until each
	// is ready or has failed.
	Patience time.Duration

	Decisions string // folder for decisions on later calls; "": they last until the end of the program
	Lists     string // folder for the tools of servers that are connected lazily; "": they are not kept

	file      []config.Server             // the entries of the file, if there is one
	signIns   map[string]*oauth.Transport // by server
	screen    screen.Screen
	person    *person.Person
	makeAgent func(context.Context) error // with what the servers offer the model now
	toolset   *adapter.Toolset            // nil: not connected
	decisions []approval.StoredDecision   // the last list, whose numbers the person knows

	lost       sync.Map    // by the name of a server: the error that says why it is lost
	connecting sync.Map    // names of servers that are being connected at the person's request
	joined     atomic.Bool // a server was added since the agent was made, other than at the person's request
}

// demoCommand starts this program as the demo server.
type demoCommand struct{ *mcpclient.Command }

// Identity names the server for kept decisions: they hold for every build of this program.
func (demoCommand) Identity() string { return "the demo server of the chatbot" }

// DemoServer returns the demo server, which is this program as a child process.
func DemoServer() (*Servers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start the demo server: %w", err)
	}
	return &Servers{Good: []adapter.Server{{
		Name:      "demo",
		Transport: demoCommand{&mcpclient.Command{Path: self, Args: []string{demo.Name}}},
	}}}, nil
}

// NewServers returns the servers of a file.
func NewServers(file []config.Server) *Servers {
	servers := &Servers{file: file}
	servers.Good, servers.Wrong = adapter.FromConfig(file)
	return servers
}

// entry returns the entry of a server in the file, nil if there is none.
func (l *Servers) entry(name string) *config.Server {
	for i := range l.file {
		if l.file[i].Name == name {
			return &l.file[i]
		}
	}
	return nil
}

// find returns a server without mistakes, nil if there is none of that name.
func (l *Servers) find(name string) *adapter.Server {
	if i := slices.IndexFunc(l.Good, func(s adapter.Server) bool { return s.Name == name }); i >= 0 {
		return &l.Good[i]
	}
	return nil
}

// transport returns the transport of a server, nil if there is no such server.
func (l *Servers) transport(name string) mcpclient.Transport {
	server := l.find(name)
	if server == nil {
		return nil
	}
	if demo, ok := server.Transport.(demoCommand); ok {
		return demo.Command
	}
	return server.Transport
}

// describeAddress says how a server is reached, without anything that may be secret.
func (l *Servers) describeAddress(server string) string {
	switch t := l.transport(server).(type) {
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

// serverNames returns the names of servers.
func serverNames(servers []adapter.Server) (names []string) {
	for _, s := range servers {
		names = append(names, s.Name)
	}
	return names
}

// Names lists the enabled servers, those with mistakes last.
func (l *Servers) Names() []string {
	names := serverNames(l.Good)
	for _, s := range l.Wrong {
		names = append(names, s.Name)
	}
	return names
}

// configure sets the options of the connections. The person and the lent model answer the requests
// of servers. If the screen has links, views are declared to servers.
func (l *Servers) configure(lent mcp.SamplingHandler) (err error) {
	_, hasLinks := l.screen.(screen.Linking)
	for i := range l.Good {
		server := &l.Good[i]
		server.ClientOptions = &mcpclient.Options{
			Sampling:    lent,
			Elicitation: l.person.Elicitation(),
			Logger:      cli.Warnings(func(line string) { l.screen.Note(screen.Warn, "%s", line) }).With("server", server.Name),
			Limits:      mcpclient.Limits{Restarts: 5},
			OnRestart:   l.onRestart(server.Name),
			Timeouts:    l.Timeouts,
		}
		if !hasLinks {
			continue
		}
		if server.ClientOptions, err = apps.Declare(server.ClientOptions); err != nil {
			return err
		}
	}
	return nil
}

// explain returns an error for the person: why a server is left out, what helps, and the line of the file.
func (l *Servers) explain(s *adapter.ServerStatus) error {
	if errors.Is(s.Err, config.ErrEntry) {
		return s.Err
	}
	about := reason.Server{Transport: l.transport(s.Name), Timeout: l.ConnectTimeout}
	err := about.Explain(s.Err)
	switch entry := l.entry(s.Name); {
	case entry != nil:
		return entry.Annotate(err)
	case err == s.Err:
		return err // which names the server
	}
	return fmt.Errorf("server %q: %w", s.Name, err)
}
