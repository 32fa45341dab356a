package adapter

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Options configure a toolset. Nil and the zero value are valid. In a number, 0 means the default
// and a negative value means none or no limit.
type Options struct {
	// ClientOptions configures every connection. Default: the defaults of [mcpclient.Connect].
	ClientOptions *mcpclient.Options

	// Policy applies to all servers. [Server.Policy] overrides it for one.
	Policy Policy

	// OpenWait is how long Open waits for the other servers once one is ready, if every server is [StartAvailable] or
	// [StartLazy]. Those that are not ready by then have the error [ErrConnecting], and join later ([ServerAdded]).
	// Default 0: Open waits until each is ready or has failed.
	OpenWait time.Duration

	// KeepResults is how many bytes of results that were shortened (see Policy.MaxResult) are kept in memory, the
	// latest first. The model gets a tool read_result to read them. Leave it 0 for agents with a store: they store
	// long results with the run (agent.Durable.ResultTokens). Default 0: nothing is kept.
	KeepResults int

	// AlwaysPrefix prefixes all tool names with the label of the server, as in "files__read", so that they do
	// not depend on which other servers there are. Default: only names that would collide.
	AlwaysPrefix bool

	// Approve decides on calls before they are sent; [approval.Request.Server] is the label of the
	// server. Default: all calls are sent.
	Approve approval.Func

	// Decisions stores decisions of Approve that apply to later calls. Default: a memory of the toolset
	// ([approval.NewMemory]), which remembers no more than 10,000. [approval.Files] stores them in files.
	Decisions approval.Store

	// User returns the user of a call from its context. It is required if users share a
	// toolset: decisions for later calls then apply only to their user, and none is remembered
	// for the user "". It may be called concurrently. Default: all calls belong to one user.
	User func(context.Context) string

	// ApproveRead decides on reads of resources by views before they are sent; [ViewFrom] has the
	// view. An error refuses the read. It may be called concurrently. Default: all reads are sent.
	ApproveRead func(ctx context.Context, server, uri string) error

	// Intercept wraps every call that is sent. The first one is outermost. Default: none.
	Intercept []Interceptor

	// OnChange is called after Open for changes: servers added and lost, tools added, removed and changed. It is called
	// for one event at a time, in their order, and may use the toolset. A method that changes a server, for example
	// [Toolset.Refresh], returns only after OnChange has, unless OnChange was running already. While it runs, the toolset
	// neither reconnects servers by itself nor lists their tools after an announcement: it must not wait for a person.
	// Default: none.
	OnChange func(Event)

	// ListDir is a directory that stores the tools of servers with [StartLazy], so that a later program need not
	// connect before their first call. It is created when needed; processes may share it. Default: nothing is stored.
	ListDir string

	// Logger logs servers and tools that are left out, and violations found by
	// Policy.CheckOutputs, at level Warn. Default: discarded.
	Logger *slog.Logger

	maxMedia int // bytes of all images and audio of one result; default 8 MiB
	maxTools int // tools of one server; default 1,000

	// retryWait is the longest wait between attempts to reconnect to a server; the first is 0.5 s.
	// Default 1 min; negative: only Refresh reconnects.
	retryWait time.Duration
}

func (o *Options) withDefaults() *Options {
	out := *cmp.Or(o, new(Options))
	out.Policy = out.Policy.inherit(defaultPolicy)
	if out.maxMedia <= 0 {
		out.maxMedia = 8 << 20
	}
	if out.maxTools <= 0 {
		out.maxTools = 1000
	}
	out.retryWait = cmp.Or(out.retryWait, time.Minute)
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	out.Intercept = slices.Clone(out.Intercept)
	return &out
}
