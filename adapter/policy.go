package adapter

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// Policy says how servers and calls of their tools are treated: [Options.Policy] for all
// servers of a toolset, [Server.Policy] for one, where each zero field means the toolset's. A
// negative number means none or no limit.
type Policy struct {
	// Start says when to connect to a server, and what happens if that fails. Default:
	// [StartRequired].
	Start Start

	// ConnectTimeout bounds connecting to a server and listing its tools. Default 30 s.
	ConnectTimeout time.Duration

	// IdleTimeout bounds the time without progress during a tool call. CallTimeout bounds the
	// whole call, including its task and the server's questions. They override the connection's
	// limits, see [mcpclient.Options]. Default: those limits, normally 5 min and 24 h. With
	// CallTimeout alone there is no idle timeout.
	IdleTimeout, CallTimeout time.Duration

	// MaxResult bounds the text of one result in bytes. A longer text keeps its beginning and
	// end, with a note of the gap's size between them. Default 64 KiB, at least 256.
	MaxResult int

	// CheckOutputs checks results against the output schemas of tools. The model gets an
	// invalid result together with the violation, as a failure; [Result.Err] is an
	// [*mcpclient.OutputError], and the Logger logs it at Warn. An unusable schema checks
	// nothing; it is logged when the tool is listed. Default: results are not checked.
	CheckOutputs bool

	// Trust says how far a server's hints are believed in approvals. Default: [TrustNone].
	Trust Trust

	// Repeat reports whether a tool may be called again if it is unknown whether it ran, regardless
	// of its hints; see [Tool.Repeatable]. A tool for which it panics is left out. Default: none.
	Repeat func(*mcp.Tool) bool

	// Pin keeps every tool at its first definition: one that differs when it is listed again is
	// left out, see [ServerStatus].Skipped and [Server.Pins].
	Pin bool
}

// Start says when to connect to a server, and what happens if that fails.
type Start string

const (
	// StartRequired connects when the toolset is opened, and Open fails if that fails.
	StartRequired Start = "required"

	// StartAvailable connects when the toolset is opened. A server that fails is left out:
	// [Toolset.Servers] has the reason, and [Toolset.Refresh] tries again.
	StartAvailable Start = "available"

	// StartLazy connects at the first call. Until then the tools are those of the last listing,
	// which [Options.Lists] stores; without one it is like StartAvailable. A tool that has
	// changed in the meantime is stale, see [ErrStale]. The connection is closed after 10
	// minutes without calls, and opened by the next. A server that is not connected has no
	// Client and no instructions.
	StartLazy Start = "lazy"
)

// defaultPolicy holds the defaults that are not zero.
var defaultPolicy = Policy{Start: StartRequired, ConnectTimeout: 30 * time.Second, MaxResult: 64 << 10, Trust: TrustNone}

// inherit returns the policy with its zero fields taken from common.
func (p Policy) inherit(common Policy) Policy {
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
		return fmt.Errorf("Policy.Start is %q: want %q, %q or %q", excerpt.Limit(string(p.Start), 200), StartRequired, StartAvailable, StartLazy)
	}
	if p.Trust < 0 || p.Trust > TrustFull { // 0 is the toolset's
		return fmt.Errorf("Policy.Trust is %d: want TrustNone, TrustHints or TrustFull", p.Trust)
	}
	return nil
}

// policy is the resolved policy of one server. All connections to the server share it.
type policy struct {
	Policy
	label   string        // the host's, "" for the toolset's own tools
	origin  string        // see serverOrigin
	place   string        // where the server is, for a person
	approve approval.Func // nil: every call is allowed

	keyInMeta, keyInArgument string // see Server
	perUser                  int    // most connections, one per user; 0: all users share one
	maxMedia                 int
	compiler                 schemacheck.Validator // validates by output schemas, unless the client has a validator

	// Learnt about the server.
	older     atomic.Bool                      // its tools ask by requests: it is spoken to in an older revision
	newerOnly atomic.Bool                      // it could not be reached in that
	live      atomic.Pointer[mcpclient.Client] // the connection of a lazy server, nil while it is idle

	log *slog.Logger
}

func newPolicy(o *Options, s *Server) *policy {
	p := &policy{
		Policy: s.Policy.inherit(o.Policy), label: s.Name, origin: serverOrigin(s), place: serverAddress(s), approve: o.Approve,
		keyInMeta: s.KeyInMeta, keyInArgument: s.KeyInArgument, maxMedia: o.maxMedia, perUser: max(s.PerUser, 0), log: o.Logger,
	}
	if s.Client != nil && p.Start == StartLazy { // it is connected already
		p.Start = StartAvailable
	}
	return p
}

// bounded returns a context for connecting and listing.
func (p *policy) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.ConnectTimeout, fmt.Errorf("not ready within %v (Policy.ConnectTimeout)", p.ConnectTimeout))
}

// callLimits returns call options that bound the silence and the duration of a call. 0 keeps
// the connection's limit; negative means none.
func callLimits(idle, whole time.Duration) (opts []mcpclient.CallOption) {
	if idle != 0 {
		opts = append(opts, mcpclient.WithIdleTimeout(idle))
	}
	if whole != 0 {
		opts = append(opts, mcpclient.WithTimeout(whole))
	}
	return opts
}
