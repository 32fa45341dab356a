package adapter

import (
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Server is one server of a toolset.
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

	// Timeout bounds one call of a tool. Default: [Options.Timeout].
	Timeout time.Duration

	// Filter says whether a tool is offered. Default: all are. It must not
	// change the tool.
	Filter func(*mcpclient.Tool) bool
}

// Options configure a toolset. Nil and the zero value are valid.
type Options struct {
	// Client configures every connection.
	Client *mcpclient.Options

	// Start says what becomes of servers that cannot be reached. Default:
	// StartAll.
	Start StartPolicy

	// ConnectTimeout bounds, for each server, connecting and listing its tools.
	// Default 30 s.
	ConnectTimeout time.Duration

	// Timeout bounds one call of a tool, the questions that the server asks in
	// between included. Default 0: the CallTimeout of the connection, if any.
	Timeout time.Duration

	// Parallelism bounds the calls that one Dispatch runs at the same time.
	// Default 8.
	Parallelism int

	// MaxResult bounds the text of one result in bytes. Of a longer one the
	// beginning and the end are kept, and what is missing is said. Default
	// 64 KiB, at least 256.
	MaxResult int

	// MaxTools bounds the tools of one server; a server that lists more cannot be
	// used. Default 1,000.
	MaxTools int

	// Prefix says which tools carry the name of their server. Default:
	// PrefixOnCollision.
	Prefix PrefixPolicy

	// Logger gets, at Warn, servers and tools that are left out. Default:
	// discarded.
	Logger *slog.Logger
}

// StartPolicy says what becomes of servers that cannot be reached.
type StartPolicy int

const (
	// StartAll makes Open fail when one server fails.
	StartAll StartPolicy = iota

	// StartAvailable leaves failing servers out; [Toolset.Servers] has the
	// reasons.
	StartAvailable
)

// PrefixPolicy says which tools carry the name of their server, as in
// "files__read".
type PrefixPolicy int

const (
	// PrefixOnCollision prefixes the tools that share a name with a tool of
	// another server.
	PrefixOnCollision PrefixPolicy = iota

	// PrefixAlways prefixes all tools. Names then do not depend on which other
	// servers there are.
	PrefixAlways

	// PrefixNever prefixes none. Names that collide get a suffix.
	PrefixNever
)

func (o *Options) withDefaults() *Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.ConnectTimeout <= 0 {
		out.ConnectTimeout = 30 * time.Second
	}
	if out.Parallelism <= 0 {
		out.Parallelism = 8
	}
	if out.MaxResult <= 0 {
		out.MaxResult = 64 << 10
	}
	out.MaxResult = max(out.MaxResult, minResult)
	if out.MaxTools <= 0 {
		out.MaxTools = 1000
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return &out
}
