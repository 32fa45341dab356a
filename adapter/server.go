package adapter

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// Server is one server of a toolset, and how it is treated.
type Server struct {
	// Name is the host's label of the server. It must be unique. It prefixes the names of tools
	// where necessary (see [Options.AlwaysPrefix]), and identifies the server in errors and by [OriginFrom].
	// The server's own name is never used for that.
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

	// PerUser, if positive, gives each user ([Options.User]) a connection of their own; it is the largest number of
	// such connections. Use it for servers that keep state per connection, and for stdio servers up to revision
	// 2025-11-25, which do not say to which call a question belongs: calls of different conversations of a user then
	// run one after the other, and a conversation gets another connection while a question is open. A conversation
	// is a run of package agent; calls outside of runs count as one.
	//
	// If all connections are in use, a call waits; agent.ToolProgress says why. A connection is closed
	// after 10 minutes without calls, or earlier if another user needs it. One more connection
	// lists the tools. Default 0: all users share one connection.
	PerUser int

	// Allow and Deny select tools by the server's names, where * matches any text and ? any
	// character. Without Allow all tools are allowed. Deny takes precedence.
	Allow, Deny []string

	// Filter reports whether a tool that passes Allow and Deny is offered. It must not modify the tool. A tool for
	// which it panics is left out, see [ServerStatus.Skipped]. Default: all are offered.
	Filter func(*mcp.Tool) bool

	// Rename returns another name of a tool for the model, or "" to keep the server's. The name is made legal and
	// unique like any other. A tool for which it panics is left out. Default: the server's names.
	Rename func(*mcp.Tool) string

	// KeyInMeta and KeyInArgument say that the server recognizes a repeated call by its key
	// ([Prepared.WithIdempotencyKey]), and where it expects the key: in this entry of _meta, such
	// as [IdempotencyKeyMeta], or in this argument of its tools, which is hidden from models. A
	// tool without the argument takes no key. A call that was given no key gets a random one;
	// agents give each call a key, which a stored run keeps. Default: the server recognizes no
	// keys; the key of a call, if it was given one, is sent in [IdempotencyKeyMeta].
	KeyInMeta, KeyInArgument string

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
	case s.KeyInMeta != "" && s.KeyInArgument != "":
		return fmt.Errorf("server %q: set either KeyInMeta or KeyInArgument, not both", s.Name)
	case s.Revision != "" && !slices.Contains(mcpclient.Revisions(), s.Revision):
		known := strings.Join(mcpclient.Revisions(), ", ")
		return fmt.Errorf("server %q: Revision %q: want one of %s", s.Name, excerpt.Limit(s.Revision, 200), known)
	}
	if err := s.Policy.check(); err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	return nil
}

// serverState is what all connections to a server share: how it is treated, and what was learnt
// about it. It is also the identity of the server.
type serverState struct {
	recipe  *Server
	opts    *Options // with defaults
	label   string   // the host's, "" for the toolset's own tools
	origin  string   // see serverOrigin
	address string   // see serverAddress

	policy    Policy                // with defaults
	validator mcpclient.Validator   // of the host's options for the connection, or nil
	outputs   schemacheck.Validator // checks outputs without such a validator

	changing chan struct{} // has a token while the tools are being listed or the connection is replaced

	// Learnt while the toolset is open.
	changes      int                              // of the tools since the server joined; guarded by the lock of the roster
	useOlder     atomic.Bool                      // connect with 2025-11-25, because its tools send requests
	refusesOlder atomic.Bool                      // 2025-11-25 was refused
	live         atomic.Pointer[mcpclient.Client] // the connection of a lazy server, nil while it is idle
}

// newServerState returns the state of s, which must not change afterwards. o has its defaults.
func newServerState(o *Options, s *Server) *serverState {
	var validator mcpclient.Validator
	if given := cmp.Or(s.ClientOptions, o.ClientOptions); given != nil {
		validator = given.Validator
	}
	return &serverState{
		recipe:    s,
		opts:      o,
		label:     s.Name,
		origin:    serverOrigin(s),
		address:   serverAddress(s),
		policy:    s.Policy.inherit(o.Policy),
		validator: validator,
		changing:  make(chan struct{}, 1),
	}
}

// serverOrigin returns a hash of the identity of a server's transport: the command line and its
// directory, or the URL without user info. The environment and headers are left out, because
// tokens in them change. A Transport without an identity counts by its type.
func serverOrigin(s *Server) string {
	identity := ""
	switch t := s.Transport.(type) {
	case *mcpclient.HTTP:
		identity = (&mcpclient.HTTP{URL: stripUser(t.URL), SSE: t.SSE}).Identity()
	case interface{ Identity() string }:
		identity = t.Identity()
	}
	identity = cmp.Or(identity, fmt.Sprintf("%T", s.Transport))
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:])
}

// maxAddress bounds the result of serverAddress, in bytes.
const maxAddress = 1024

// serverAddress returns where a server is: the program and its directory, or the URL. It leaves out
// arguments, user info and query, which may be secret. It is UTF-8, although paths need not be.
func serverAddress(s *Server) string {
	address := ""
	switch t := s.Transport.(type) {
	case *mcpclient.Command:
		dir, err := filepath.Abs(t.Dir)
		if err != nil {
			dir = t.Dir
		}
		return excerpt.Limit(strings.ToValidUTF8(t.Path+" in "+dir, "\ufffd"), maxAddress)
	case *mcpclient.HTTP:
		address = t.URL
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return excerpt.Limit((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), maxAddress)
}

// stripUser returns a URL without its user info. What is not a URL is returned as it is.
func stripUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.User = nil
	return u.String()
}

// FromConfig returns the enabled servers of an mcp.json for [Open], with all settings but their sign-in: before Open,
// set Client of the *mcpclient.HTTP of a server with OAuth to that of an oauth.Transport, as mcpchain.Open does. left
// has the servers that cannot be used; the Err of each names the line in the file. Unless the file was loaded with
// Loader.AllowFilters and AllowSignIn, servers with lists of allowed tools and with OAuth are among them.
func FromConfig(file []config.Server) (servers []Server, left []ServerStatus) {
	for i := range file {
		switch s := &file[i]; {
		case s.Disabled:
		case s.Err != nil:
			left = append(left, ServerStatus{Name: s.Name, Err: s.Annotate(s.Err)})
		default:
			servers = append(servers, Server{
				Name:      s.Name,
				Transport: s.Transport,
				Revision:  s.Revision,
				Policy:    Policy{Start: Start(s.Start), IdleTimeout: s.Timeout},
				Allow:     s.Allow,
				Deny:      s.Deny,
			})
		}
	}
	return servers, left
}
