package adapter

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Options configure a toolset. Nil and the zero value are valid.
type Options struct {
	// Client configures every connection. Default: that of [mcpclient.Connect].
	Client *mcpclient.Options

	// Start says what becomes of servers that cannot be reached. Default:
	// StartAll.
	Start StartPolicy

	// Patience is how long Open waits for slower servers once one is ready, with StartAvailable. Those that are not ready then
	// have the Err [ErrConnecting], and join when they are ([ServerAdded]). Default 0: Open waits until each is ready or has
	// failed.
	Patience time.Duration

	// ConnectTimeout bounds, for each server, connecting and listing its tools.
	// Default 30 s.
	ConnectTimeout time.Duration

	// RetryWait is the longest wait between two attempts to reach a server that could not be reached, or whose
	// connection has ended by itself and is not restarted by its client; the first one is 0.5 s. A connection of
	// [mcpclient.IO] or Pipe cannot be made again. Default 1 min; negative: Refresh alone connects again.
	// A server that wants a person to sign in is reached by Refresh, after the sign-in.
	RetryWait time.Duration

	// IdleTimeout bounds the silence of one call of a tool; progress ends the silence.
	// CallTimeout bounds the whole call, with its task and the questions of the server.
	// They replace the limits of the connection, see [mcpclient.Options]; negative: none.
	// Default 0: the limits of the connection, by default 5 min and 24 h. CallTimeout
	// alone leaves silence without the default.
	IdleTimeout, CallTimeout time.Duration

	// Parallelism bounds the calls that one Dispatch runs at the same time.
	// Default 8.
	Parallelism int

	// MaxResult bounds the text of one result in bytes. A longer text keeps its
	// beginning and end, and names the size of the gap. Default
	// 64 KiB, at least 256.
	MaxResult int

	// CheckOutputs checks the results of tools against the output schemas that they
	// declare. If a result does not fit, the model reads that beside the result, as a
	// failure; [Result.Err] is an [*mcpclient.OutputError], and the Logger gets it at
	// Warn. A schema that cannot be used checks nothing, and the Logger gets that
	// when the tool is listed. Default: results are not checked.
	CheckOutputs bool

	// Spill keeps results that are longer than MaxResult, up to so many bytes
	// in all, the latest ones. The model is given a tool, read_result, to page
	// through them. Default 0: what was cut is gone.
	Spill int

	// Prefix says which tools carry the name of their server. Default:
	// PrefixOnCollision.
	Prefix PrefixPolicy

	// Errors says what a failing tool is to the caller. Default: ErrorAsText.
	Errors ErrorMode

	// Approve decides on calls before they are sent. Default: all calls are.
	Approve ApproveFunc

	// Decisions keeps the decisions of Approve that hold for later calls. Default:
	// they are kept in memory, for as long as the toolset lives. [FileDecisions]
	// keeps them longer.
	Decisions DecisionStore

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

	// Pin holds every tool to its first definition: one that is different when
	// it is listed again is left out with a [*DriftError]. See also [Server.Pins].
	Pin bool

	// OnChange reports changes after Open: servers added and removed, tools added,
	// removed and changed, and changes of a server's prompts or resources. It may be
	// called concurrently and may use the toolset, except that Close waits for it. Default: none.
	OnChange func(Event)

	// RefreshInterval is the least time between two lists of tools that a server
	// is asked for because it says that they have changed, and between two events
	// about its other lists. Default 1 s.
	RefreshInterval time.Duration

	// Lists keeps what servers with [StartLazy] list, so that the next program need not connect to them before their
	// first call. Default: nothing is kept. [NewFileLists] keeps them in files.
	Lists ListStore

	// Logger gets, at Warn, servers and tools that are left out, and what
	// CheckOutputs finds. Default: discarded.
	Logger *slog.Logger

	maxMedia int // bounds the images and sounds of one result in bytes, all together; default 8 MiB
	maxTools int // bounds the tools of one server; default 1,000
}

// StartPolicy says what becomes of servers that cannot be reached.
type StartPolicy int

const (
	// StartAll makes Open fail when one server fails. The error names all that
	// fail at about the same time, see [Open].
	StartAll StartPolicy = iota

	// StartAvailable leaves failing servers out; [Toolset.Servers] has the
	// reasons, and [Toolset.Refresh] tries again.
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

// ErrorMode says what a tool that fails, or a server that answers with an error,
// is to the caller. The model's own mistakes are text for the model and lost
// connections are errors, whatever the mode.
type ErrorMode int

const (
	// ErrorDefault is the mode of the toolset, and for a toolset ErrorAsText.
	ErrorDefault ErrorMode = iota

	// ErrorAsText makes it text for the model alone, which may do better.
	ErrorAsText

	// ErrorAsError makes it an error of [Tool.Call] and [Catalog.Dispatch]; see
	// [Result.Fatal].
	ErrorAsError
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
	if out.maxMedia <= 0 {
		out.maxMedia = 8 << 20
	}
	if out.maxTools <= 0 {
		out.maxTools = 1000
	}
	if out.RefreshInterval <= 0 {
		out.RefreshInterval = time.Second
	}
	if out.RetryWait == 0 {
		out.RetryWait = time.Minute
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	out.MaxResult = max(out.MaxResult, minResult)
	out.Intercept = append([]Interceptor(nil), out.Intercept...)
	return &out
}
