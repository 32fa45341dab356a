package adapter

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Options configure a toolset. Nil and the zero value are valid. A number that is 0 has the default that its field names; a
// negative one means none, or without limit.
type Options struct {
	// Client configures every connection. Default: that of [mcpclient.Connect].
	Client *mcpclient.Options

	// Policy is how servers and calls of their tools are treated. [Server.Policy] says what differs for one server.
	Policy Policy

	// Patience is how long Open waits for slower servers once one is ready, if no server is [StartRequired]. Those that are
	// not ready then have the Err [ErrConnecting], and join when they are ([ServerAdded]). Default 0, as negative: Open
	// waits until each is ready or has failed.
	Patience time.Duration

	// RetryWait is the longest wait between two attempts to reach a server that could not be reached, or whose
	// connection has ended by itself and is not restarted by its client; the first one is 0.5 s. A connection of
	// [mcpclient.IO] or Pipe cannot be made again. Default 1 min; negative: Refresh alone connects again.
	// A server that wants a person to sign in is reached by Refresh, after the sign-in.
	RetryWait time.Duration

	// Parallelism bounds the calls that one Dispatch runs at the same time.
	// Default 8; negative: without limit.
	Parallelism int

	// Spill keeps results that are longer than Policy.MaxResult, up to so many bytes
	// in all, the latest ones. The model is given a tool, read_result, to read
	// in them. Default 0, as negative: what was cut is gone.
	Spill int

	// Prefix has all tools carry the name of their server, as in "files__read": names then do not depend on which other
	// servers there are. Default: those that share a name with a tool of another server.
	Prefix bool

	// Approve decides on calls before they are sent; [approval.Request.Server] names the server. Default: all calls are sent.
	Approve approval.Func

	// Decisions keeps the decisions of Approve that hold for later calls. Default:
	// they are kept in memory, for as long as the toolset lives. [approval.Files]
	// keeps them longer.
	Decisions approval.Store

	// User names the user of a call by its context, as the interceptors left it.
	// Set it where users share a toolset: a decision of Approve for later calls
	// then holds for its user alone. Nothing is remembered for the unknown user,
	// "". It may be called concurrently. Default: all calls are of one user.
	User func(context.Context) string

	// ApproveRead decides on reads of resources by views before they are sent;
	// [ViewFrom] names the view. An error refuses a read. It may be called concurrently. Default:
	// all reads are sent.
	ApproveRead func(ctx context.Context, server, uri string) error

	// Intercept wraps every call that is sent, the first one outermost. Default: none.
	Intercept []Interceptor

	// OnChange reports changes after Open: servers added and removed, tools added,
	// removed and changed, and changes of a server's prompts or resources. It may be
	// called concurrently and may use the toolset, except that Close waits for it. Default: none.
	OnChange func(Event)

	// RefreshInterval is the least time between two lists of tools that a server
	// is asked for because it says that they have changed, and between two events
	// about its other lists. Default 1 s; negative: none.
	RefreshInterval time.Duration

	// Lists is a directory, made when it is needed, that keeps what servers list that are [StartLazy]: the next program need not
	// connect to them before their first call. Any number of processes may share it. Default: nothing is kept.
	Lists string

	// Logger gets, at Warn, servers and tools that are left out, and what
	// Policy.CheckOutputs finds. Default: discarded.
	Logger *slog.Logger

	maxMedia int // bounds the images and sounds of one result in bytes, all together; default 8 MiB
	maxTools int // bounds the tools of one server; default 1,000
}

func (o *Options) withDefaults() *Options {
	var out Options
	if o != nil {
		out = *o
	}
	switch {
	case out.Parallelism == 0:
		out.Parallelism = 8
	case out.Parallelism < 0:
		out.Parallelism = math.MaxInt
	}
	out.Policy = out.Policy.over(defaultPolicy)
	if out.maxMedia <= 0 {
		out.maxMedia = 8 << 20
	}
	if out.maxTools <= 0 {
		out.maxTools = 1000
	}
	if out.RefreshInterval == 0 {
		out.RefreshInterval = time.Second
	}
	if out.RetryWait == 0 {
		out.RetryWait = time.Minute
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	out.Intercept = append([]Interceptor(nil), out.Intercept...)
	return &out
}
