package adapter

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Policy specifies how a server and calls of its tools are treated. [Options.Policy] applies to all
// servers of a toolset. A field of [Server.Policy] that is not zero overrides it, so CheckOutputs
// and Pin cannot be switched off for one server. A negative number means no limit.
type Policy struct {
	// Start says when to connect to a server, and what happens if that fails. Default: [StartRequired].
	Start Start

	// ConnectTimeout bounds connecting to a server and listing its tools. The time in which a person
	// signs in counts: raise it, or call SignIn of the oauth.Transport first. Default 30 s.
	ConnectTimeout time.Duration

	// IdleTimeout bounds the time without progress during a tool call. Default: the limit of the
	// connection, see [mcpclient.Options], normally 5 min.
	IdleTimeout time.Duration

	// CallTimeout bounds a whole call, including its task and the server's questions; before it, a wait for a connection
	// ([Server.PerUser]) has the same bound. It does not change the idle limit: that of the connection applies unless
	// IdleTimeout is set. Default: the limit of the connection, normally 24 h.
	CallTimeout time.Duration

	// MaxResult bounds the text of one result in bytes. A longer text keeps its beginning and
	// end, with a note of the gap's size between them. Default 64 KiB; 1 to 255 count as 256.
	MaxResult int

	// CheckOutputs checks results against the output schemas of tools. The model gets an invalid result together with
	// the violation, as a failure; [Result.Err] is an [*mcpclient.OutputError], and the Logger logs it at Warn. An
	// unusable schema checks nothing; it is logged when the tool is listed. Default: results are not checked.
	CheckOutputs bool

	// Trust says how far a server's hints are believed, in approvals and by [Tool.Repeatable]. Default: [TrustNone].
	Trust Trust

	// Repeat reports whether calls of a tool may be sent again when their outcome is unknown, even if its hints do not
	// say so; see [Tool.Repeatable]. False forbids nothing: then the hints decide, as far as Trust believes them. If it
	// panics, the tool is left out. Default: only the hints count.
	Repeat func(*mcp.Tool) bool

	// Pin keeps every tool at its first definition: one that differs when it is listed again is
	// left out, see [ServerStatus.Skipped] and [Server.Pins].
	Pin bool
}

// Start specifies when to connect to a server, and what happens if that fails.
type Start string

const (
	// StartRequired connects when the toolset is opened, and Open fails if that fails.
	StartRequired Start = "required"

	// StartAvailable connects when the toolset is opened. A server that fails is left out:
	// [Toolset.Servers] has the reason, and [Toolset.Refresh] tries again.
	StartAvailable Start = "available"

	// StartLazy connects at the first call. Until then the tools are those of the last listing, which [Options.ListDir]
	// stores; without one it is like StartAvailable. A tool that has changed in the meantime is stale, see [ErrStale].
	// The connection is closed after 10 minutes without calls, and opened by the next. A server that is not connected
	// has no Client and no instructions.
	StartLazy Start = "lazy"
)

// defaultPolicy holds the defaults that are not zero.
var defaultPolicy = Policy{Start: StartRequired, ConnectTimeout: 30 * time.Second, MaxResult: 64 << 10, Trust: TrustNone}

// inherit returns the policy with its zero fields taken from common, and its numbers resolved: no
// limit is the largest value.
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

// check returns an error for a value that does not exist. The zero values mean inherited ones.
func (p *Policy) check() error {
	switch p.Start {
	case "", StartRequired, StartAvailable, StartLazy:
	default:
		return fmt.Errorf("Policy.Start is %q: want %q, %q or %q",
			excerpt.Limit(string(p.Start), 200), StartRequired, StartAvailable, StartLazy)
	}
	switch p.Trust {
	case 0, TrustNone, TrustHints, TrustFull:
	default:
		return fmt.Errorf("Policy.Trust is %d: want TrustNone, TrustHints or TrustFull", p.Trust)
	}
	return nil
}

// connectContext returns a context for connecting and listing.
func (p *Policy) connectContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.ConnectTimeout, fmt.Errorf("not ready within %v (Policy.ConnectTimeout)", p.ConnectTimeout))
}

// timeoutOptions returns options that bound the silence and the duration of a call. 0 keeps the
// connection's limit; negative means none.
func (p *Policy) timeoutOptions() (opts []mcpclient.CallOption) {
	if p.IdleTimeout != 0 {
		opts = append(opts, mcpclient.WithIdleTimeout(p.IdleTimeout))
	}
	if p.CallTimeout != 0 {
		opts = append(opts, mcpclient.WithTimeout(p.CallTimeout))
	}
	return opts
}
