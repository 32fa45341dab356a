package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Server is one server of a toolset, and how it is treated.
type Server struct {
	// Name is the host's own label of the server. It must be unique. It prefixes
	// the names of tools where they need it, and names the server in errors and
	// in [Source]: what a server says of itself is never used for that.
	Name string

	// Transport reaches the server.
	Transport mcpclient.Transport

	// Client is a connection to use instead of Transport. The toolset does not
	// close it, and [SourceFrom] knows nothing in its handlers.
	Client *mcpclient.Client

	// Options are used to connect instead of [Options.Client].
	Options *mcpclient.Options

	// Revision forces a protocol revision, one of [mcpclient.Revisions], instead of
	// the one in the options of the connection: as [mcp.Revision20251125] for a
	// server whose tools ask by requests, which 2026-07-28 does not have.
	Revision string

	// IdleTimeout and CallTimeout replace the fields of [Options] with these names.
	IdleTimeout, CallTimeout time.Duration

	// Allow and Deny choose tools by the names that the server gives them, with
	// * for any text and ? for any character. Without Allow all are allowed;
	// what Deny names is left out in any case.
	Allow, Deny []string

	// Filter says whether a tool that passes Allow and Deny is offered. Default:
	// all are. It must not change the tool. A tool at which it panics is left out,
	// see [SkippedTool]. [ReadOnly], [NotDestructive] and
	// [Matching] are filters.
	Filter func(*mcp.Tool) bool

	// Prefix is used in the names of tools instead of Name.
	Prefix string

	// Rename gives a tool another name for the model; "" keeps it. The result is
	// made legal and told apart from others like any name.
	Rename func(*mcp.Tool) string

	// Trust says how far the server's word counts in approvals. Default:
	// Untrusted.
	Trust Trust

	// Approve decides on calls instead of [Options.Approve].
	Approve ApproveFunc

	// Errors, MaxResult and MaxMedia replace those of [Options].
	Errors    ErrorMode
	MaxResult int
	MaxMedia  int

	// Pins are the fingerprints that the server's tools must have, by the names
	// that the server gives them, as [Toolset.Pins] returned them. A tool that is
	// not among them counts as drifted. Nil pins nothing.
	Pins map[string]string
}

func checkServer(s *Server) error {
	switch {
	case s.Name == "":
		return errors.New("a server has no name: set Server.Name")
	case s.Client == nil && s.Transport == nil:
		return fmt.Errorf("server %q: set Transport or Client", s.Name)
	case s.Client != nil && s.Transport != nil:
		return fmt.Errorf("server %q: set either Transport or Client, not both", s.Name)
	case s.Client != nil && s.Revision != "":
		return fmt.Errorf("server %q: Revision does not go with Client, which is connected already", s.Name)
	case s.Revision != "" && !slices.Contains(mcpclient.Revisions(), s.Revision):
		return fmt.Errorf("server %q: Revision %q: want one of %s", s.Name, cut(s.Revision, 200), strings.Join(mcpclient.Revisions(), ", "))
	}
	return nil
}

// server is a connection to a server, or the failure to make one. A new attempt
// makes a new server.
type server struct {
	set     *Toolset
	label   string
	recipe  *Server // shared with the servers that come in its place
	policy  *policy // shared with them, too
	opts    *Options
	client  *mcpclient.Client
	listing chan struct{} // holds a token while the tools are being listed
	offered chan struct{} // closed when the server is in the toolset

	life context.Context // of what listens to the server
	end  context.CancelFunc

	// Guarded by Toolset.mu once the server is in a toolset.
	err     error
	tools   []*Tool
	skipped []SkippedTool
	pins    map[string]string // nil: not pinned
	refresh refreshState
}

// newServer makes a server of this toolset. The recipe must not change
// after that.
func (t *Toolset) newServer(recipe *Server, p *policy) *server {
	s := &server{
		set: t, label: recipe.Name, recipe: recipe, policy: p, opts: t.opts, pins: recipe.Pins,
		listing: make(chan struct{}, 1), offered: make(chan struct{}),
	}
	s.life, s.end = context.WithCancel(t.life)
	return s
}

// open connects to the server, begins to listen to it and lists its tools: in
// this order nothing is missed.
func (s *server) open(ctx context.Context) (l listing, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.ConnectTimeout,
		fmt.Errorf("not ready within %v (Options.ConnectTimeout)", s.opts.ConnectTimeout))
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("server %q: %w", s.label, err)
			_ = s.close()
		}
	}()
	if s.client = s.recipe.Client; s.client == nil {
		if s.client, err = mcpclient.Connect(ctx, s.recipe.Transport, s.connection()); err != nil {
			return listing{}, err
		}
	} else if level := s.set.level.Load(); level != nil {
		if err := setLogLevel(ctx, s.client, *level); err != nil {
			s.opts.Logger.Warn("a server was not told the log level", "server", s.label, "error", err)
		}
	}
	s.set.listen(ctx, s)
	return s.list(ctx)
}

// connection is how to connect to the server.
func (s *server) connection() *mcpclient.Options {
	opts := s.recipe.Options
	if opts == nil {
		opts = s.opts.Client
	}
	opts = withNotifications(withSources(opts, s.label), s.set.notify(s))
	opts.Protocol.Revision = cmp.Or(s.recipe.Revision, opts.Protocol.Revision)
	if level := s.set.level.Load(); level != nil {
		opts.LogLevel = *level
	}
	return opts
}

// listing is what came of asking a server for its tools.
type listing struct {
	tools   []*Tool
	skipped []SkippedTool
}

// list asks for the server's tools. One that cannot be used does not keep the
// others from being used.
func (s *server) list(ctx context.Context, opts ...mcpclient.CallOption) (l listing, err error) {
	if s.client.Server().Capabilities.Tools == nil {
		return l, nil
	}
	seen := map[string]bool{}
	count := 0
	for def, err := range s.client.Tools(ctx, opts...) {
		if err != nil {
			return l, err
		}
		if count++; count > s.opts.MaxTools {
			return l, fmt.Errorf("lists more than %d tools (Options.MaxTools)", s.opts.MaxTools)
		}
		tool, err := s.offer(def)
		if tool != nil && seen[def.Name] {
			err = errors.New("listed twice: the first one is used")
		}
		switch {
		case err != nil:
			l.skip(s, def.Name, err)
		case tool != nil:
			seen[def.Name] = true
			l.tools = append(l.tools, tool)
		}
	}
	return l, nil
}

// offer makes a tool of a definition, nil if the host does not want it.
func (s *server) offer(def *mcp.Tool) (*Tool, error) {
	keep, err := s.keeps(def)
	if err != nil || !keep {
		return nil, err
	}
	tool, err := newTool(s.policy, s.client, def, &s.set.schemas)
	if err != nil {
		return nil, err
	}
	tool.run = s.set.calls.text
	if rename := s.recipe.Rename; rename != nil {
		err = guarded(s.opts.Logger, "Server.Rename", func() error { tool.own = rename(def); return nil })
	}
	return tool, err
}

// skip notes that a tool is left out.
func (l *listing) skip(s *server, name string, err error) {
	s.opts.Logger.Warn("left out a tool", "server", s.label, "tool", cut(name, 200), "error", err)
	l.skipped = append(l.skipped, SkippedTool{Name: name, Err: err})
}

// close ends the listening, and the connection when the toolset made it.
func (s *server) close() error {
	s.end()
	if s.client == nil || s.client == s.recipe.Client {
		return nil
	}
	return s.client.Close()
}
