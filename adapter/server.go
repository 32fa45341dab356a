package adapter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Server is one server of a toolset, and how it is treated.
type Server struct {
	// Name is the host's own label of the server. It must be unique. It prefixes
	// the names of tools where they need it, and names the server in errors and
	// in [RequestSource]: what a server says of itself is never used for that.
	Name string

	// Transport reaches the server.
	Transport mcpclient.Transport

	// Client is a connection to use instead of Transport. The toolset does not
	// close it, and [SourceFrom] knows nothing in its handlers.
	Client *mcpclient.Client

	// Options are used to connect instead of [Options.Client]. Default nil: these.
	Options *mcpclient.Options

	// Policy is what differs for this server from [Options.Policy].
	Policy Policy

	// Revision forces a protocol revision, one of [mcpclient.Revisions], instead of
	// the one in the options of the connection: as [mcp.Revision20251125] for a
	// server whose tools ask by requests, which 2026-07-28 does not have.
	Revision string

	// PerUser gives each user ([Options.User]) a connection of their own, at most so many at a time. That
	// is for servers that keep state for whoever calls, and for servers over standard input and output of a
	// revision up to 2025-11-25, which do not say for which call they ask: there calls of different
	// conversations of a user are made one after the other, and a conversation gets another connection
	// while a question is open. A call waits if all are in use, and [Caller] is told. A connection ends 10
	// minutes after its last call, or earlier if another user needs it. One connection more lists what the server
	// has. Default 0, as negative: all users share one connection.
	PerUser int

	// Allow and Deny choose tools by the names that the server gives them, with
	// * for any text and ? for any character. Without Allow all are allowed;
	// what Deny names is left out in any case.
	Allow, Deny []string

	// Filter reports whether a tool that passes Allow and Deny is offered. Default:
	// all are. It must not change the tool. A tool at which it panics is left out,
	// see [SkippedTool]. [ReadOnly] is a filter.
	Filter func(*mcp.Tool) bool

	// Prefix is used in the names of tools instead of Name. Default: Name.
	Prefix string

	// Rename gives a tool another name for the model; "" keeps it. The result is
	// made legal and told apart from others like any name. A tool at which it panics is left out.
	// Default: the server's names.
	Rename func(*mcp.Tool) string

	// KeyInMeta and KeyInArgument say that the server recognizes a call that it gets again, by the key of the call
	// ([Prepared.WithKey]), and where it looks for it: in this entry of _meta, such as [KeyMeta], or in this argument of its
	// tools, which models are not told about; a tool without the argument takes no keys. Such a server gets a key with each
	// call. Default: it does not, and a key that a call has goes along in [KeyMeta].
	KeyInMeta, KeyInArgument string

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
	case s.Client != nil && s.Policy.Start == StartLazy:
		return fmt.Errorf("server %q: Policy.Start %q does not go with Client, which is connected already", s.Name, StartLazy)
	case s.Client != nil && s.PerUser > 0:
		return fmt.Errorf("server %q: PerUser does not go with Client, which is one connection", s.Name)
	case s.Client != nil && s.Revision != "":
		return fmt.Errorf("server %q: Revision does not go with Client, which is connected already", s.Name)
	case s.KeyInMeta != "" && s.KeyInArgument != "":
		return fmt.Errorf("server %q: set either KeyInMeta or KeyInArgument, not both", s.Name)
	case s.Revision != "" && !slices.Contains(mcpclient.Revisions(), s.Revision):
		return fmt.Errorf("server %q: Revision %q: want one of %s", s.Name, cut(s.Revision, 200), strings.Join(mcpclient.Revisions(), ", "))
	}
	if err := s.Policy.check(); err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	return nil
}
