package adapter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Server is one server of a toolset, and how it is treated.
type Server struct {
	// Name is the host's label of the server. It must be unique. It prefixes the names of tools
	// where necessary, and identifies the server in errors and by [OriginFrom]. The server's own
	// name is never used for that.
	Name string

	// Transport reaches the server.
	Transport mcpclient.Transport

	// ClientOptions configure the connection. Default: [Options.ClientOptions].
	ClientOptions *mcpclient.Options

	// Policy overrides [Options.Policy] for this server.
	Policy Policy

	// Revision forces a protocol revision, one of [mcpclient.Revisions], instead of the one in
	// the connection's options: for example [mcp.Revision20251125] for a server whose tools
	// send requests, which 2026-07-28 does not allow.
	Revision string

	// PerUser, if positive, gives each user ([Options.User]) a connection of their own; it is the
	// largest number of such connections. Use it for servers that keep state per connection, and
	// for stdio servers up to revision 2025-11-25, which do not say to which call a question
	// belongs: calls of different conversations of a user then run one after the other, and a
	// conversation gets another connection while a question is open.
	//
	// If all connections are in use, a call waits, see [Caller].Waiting. A connection is closed
	// after 10 minutes without calls, or earlier if another user needs it. One more connection
	// lists the tools. Default 0: all users share one connection.
	PerUser int

	// Allow and Deny select tools by the server's names, where * matches any text and ? any
	// character. Without Allow all tools are allowed. Deny takes precedence.
	Allow, Deny []string

	// Filter reports whether a tool that passes Allow and Deny is offered. It must not modify the
	// tool. A tool for which it panics is left out, see [ServerStatus.Skipped]. Default: all are
	// offered. [DeclaresReadOnly] is a filter.
	Filter func(*mcp.Tool) bool

	// Prefix is used in the names of tools instead of Name. Default: Name.
	Prefix string

	// Rename returns another name of a tool for the model, or "" to keep the server's. The name
	// is made legal and unique like any other. A tool for which it panics is left out. Default:
	// the server's names.
	Rename func(*mcp.Tool) string

	// KeyInMeta says that the server recognizes a repeated call by its key
	// ([Prepared.WithIdempotencyKey]), and in which entry of _meta it expects the key, such as
	// [IdempotencyKeyMeta]. Each call then has a key. Default: the server recognizes no keys; the
	// key of a call is sent in [IdempotencyKeyMeta].
	KeyInMeta string

	// Pins are the fingerprints that the server's tools must have, by the server's names, as
	// returned by [Toolset.Pins]. A tool without a pin counts as changed. Nil pins nothing.
	Pins map[string]string
}

// checkServer returns an error for settings that are missing, unknown, or do not go together.
func checkServer(s *Server) error {
	switch {
	case s.Name == "":
		return errors.New("server has no name: set Server.Name")
	case s.Transport == nil:
		return fmt.Errorf("server %q: set Transport", s.Name)
	case s.Revision != "" && !slices.Contains(mcpclient.Revisions(), s.Revision):
		return fmt.Errorf("server %q: Revision %q: want one of %s", s.Name, excerpt.Limit(s.Revision, 200), strings.Join(mcpclient.Revisions(), ", "))
	}
	if err := s.Policy.check(); err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	return nil
}
