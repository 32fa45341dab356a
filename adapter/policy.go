package adapter

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// Policy says how servers and calls of their tools are treated: [Options.Policy] says it for all servers of a toolset, and
// [Server.Policy] for one. Each field that is zero there is as in the toolset's. A negative number means none, or without limit.
type Policy struct {
	// Start says when a server is connected to, and what happens if it cannot be reached. Default: [StartRequired].
	Start Start

	// ConnectTimeout bounds connecting to a server and listing its tools. Default 30 s.
	ConnectTimeout time.Duration

	// IdleTimeout bounds the silence of one call of a tool; progress ends the silence.
	// CallTimeout bounds the whole call, with its task and the questions of the server.
	// They replace the limits of the connection, see [mcpclient.Options].
	// Default: the limits of the connection, by default 5 min and 24 h. CallTimeout
	// alone leaves silence without the default.
	IdleTimeout, CallTimeout time.Duration

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

	// Trust says how far a server's word counts in approvals. Default: [TrustNone].
	Trust Trust

	// Repeat says which tools may be called again if it is not known whether they ran,
	// whatever the tools say themselves; see [Tool.Repeatable]. A tool at which it
	// panics is left out. Default: none.
	Repeat func(*mcp.Tool) bool

	// Pin holds every tool to its first definition: one that is different when
	// it is listed again is left out, and [SkippedTool] says so. See also [Server.Pins].
	Pin bool
}

// Start says when a server is connected to, and what happens if it cannot be reached.
type Start string

const (
	// StartRequired connects when the toolset is opened. Open fails if the server does. The error names all that
	// fail at about the same time, see [Open].
	StartRequired Start = "required"

	// StartAvailable connects when the toolset is opened. A server that fails is left out: [Toolset.Servers] has the
	// reasons, and [Toolset.Refresh] tries again.
	StartAvailable Start = "available"

	// StartLazy connects at the first call. Until then the tools are those that the server listed last, as [Options.Lists] keeps
	// them; without a kept list it is as StartAvailable. What is different at the connection
	// is stale: it is not called unseen, see [ErrStale]. The connection ends 10 minutes after its last call, and the next
	// call makes another. Until it is connected to, the server has no Client and no instructions.
	StartLazy Start = "lazy"
)

// defaultPolicy has what is not zero by default.
var defaultPolicy = Policy{Start: StartRequired, ConnectTimeout: 30 * time.Second, MaxResult: 64 << 10, Trust: TrustNone}

// over returns the policy with the fields of another one where it has none.
func (p Policy) over(common Policy) Policy {
	out := Policy{
		Start:          cmp.Or(p.Start, common.Start),
		ConnectTimeout: cmp.Or(p.ConnectTimeout, common.ConnectTimeout),
		IdleTimeout:    cmp.Or(p.IdleTimeout, common.IdleTimeout),
		CallTimeout:    cmp.Or(p.CallTimeout, common.CallTimeout),
		MaxResult:      cmp.Or(p.MaxResult, common.MaxResult),
		CheckOutputs:   p.CheckOutputs || common.CheckOutputs,
		Trust:          cmp.Or(p.Trust, common.Trust),
		Repeat:         p.Repeat,
		Pin:            p.Pin || common.Pin,
	}
	if out.Repeat == nil {
		out.Repeat = common.Repeat
	}
	if out.ConnectTimeout < 0 {
		out.ConnectTimeout = math.MaxInt64
	}
	if out.MaxResult < 0 {
		out.MaxResult = math.MaxInt
	}
	out.MaxResult = max(out.MaxResult, minResult)
	return out
}

func (p *Policy) check() error {
	switch p.Start {
	case "", StartRequired, StartAvailable, StartLazy:
	default:
		return fmt.Errorf("Policy.Start is %q: want %q, %q or %q", cut(string(p.Start), 200), StartRequired, StartAvailable, StartLazy)
	}
	if p.Trust < 0 || p.Trust > TrustFull { // 0: that of the toolset
		return fmt.Errorf("Policy.Trust is %d: want TrustNone, TrustHints or TrustFull", p.Trust)
	}
	return nil
}

// policy is how the host treats the tools of one server. All tools of a server share one, on every
// connection to it.
type policy struct {
	Policy
	label   string        // the host's, "" for the toolset's own tools
	origin  string        // see originOf
	place   string        // how the server is reached, for a person
	approve approval.Func // nil: every call is allowed

	keyInMeta, keyInArgument string // see Server
	perUser                  int    // connections at most, one for each user; 0: all users share one
	maxMedia                 int
	compiler                 schemacheck.Validator // of output schemas, unless the client has one

	// What has been learnt about the server.
	older     atomic.Bool                      // its tools ask by requests: it is spoken to in an older revision
	newerOnly atomic.Bool                      // it could not be reached in that
	live      atomic.Pointer[mcpclient.Client] // the connection to a lazy server, nil while it rests

	log *slog.Logger
}

func newPolicy(o *Options, s *Server) *policy {
	p := &policy{
		Policy: s.Policy.over(o.Policy), label: s.Name, origin: originOf(s), place: placeOf(s), approve: o.Approve,
		keyInMeta: s.KeyInMeta, keyInArgument: s.KeyInArgument, maxMedia: o.maxMedia, perUser: max(s.PerUser, 0), log: o.Logger,
	}
	if s.Client != nil && p.Start == StartLazy { // it is connected already
		p.Start = StartAvailable
	}
	return p
}

// callLimits are the options of a call for a bound on its silence and one on the whole.
// 0 keeps the limit that there is; negative means none.
func callLimits(idle, whole time.Duration) (opts []mcpclient.CallOption) {
	if idle != 0 {
		opts = append(opts, mcpclient.WithIdleTimeout(idle))
	}
	if whole != 0 {
		opts = append(opts, mcpclient.WithTimeout(whole))
	}
	return opts
}
