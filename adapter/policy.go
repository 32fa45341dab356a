package adapter

import (
	"cmp"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// policy is how the host treats the tools of one server: the options of the
// toolset with what [Server] replaces. All tools of a server share one, on every
// connection to it.
type policy struct {
	label   string // the host's, "" for the toolset's own tools
	origin  string // see originOf
	place   string // how the server is reached, for a person
	trust   Trust
	approve ApproveFunc // nil: every call is allowed

	idempotency Idempotency

	idleTimeout, callTimeout time.Duration
	maxResult, maxMedia      int
	errors                   ErrorMode
	checkOutputs             bool
	compiler                 schemacheck.Validator // of output schemas, unless the client has one

	// What has been learnt about the server.
	users     *pool                            // nil: all users share a connection
	older     atomic.Bool                      // its tools ask by requests: it is spoken to in an older revision
	newerOnly atomic.Bool                      // it could not be reached in that
	live      atomic.Pointer[mcpclient.Client] // the connection to a lazy server, nil while it rests

	log *slog.Logger
}

func newPolicy(o *Options, s *Server) *policy {
	p := &policy{
		label: s.Name, origin: originOf(s), place: placeOf(s), trust: s.Trust, approve: o.Approve, idempotency: s.Idempotency,
		idleTimeout: cmp.Or(s.IdleTimeout, o.IdleTimeout), callTimeout: cmp.Or(s.CallTimeout, o.CallTimeout),
		maxResult: max(cmp.Or(max(s.MaxResult, 0), o.MaxResult), minResult), maxMedia: o.maxMedia,
		errors: cmp.Or(s.Errors, o.Errors), users: newPool(s), checkOutputs: o.CheckOutputs, log: o.Logger,
	}
	if s.Approve != nil {
		p.approve = s.Approve
	}
	return p
}

// CallLimits are the options of a call for a bound on its silence and one on the whole.
// 0 keeps the limit that there is; negative means none.
func CallLimits(idle, whole time.Duration) (opts []mcpclient.CallOption) {
	if idle != 0 {
		opts = append(opts, mcpclient.WithIdleTimeout(idle))
	}
	if whole != 0 {
		opts = append(opts, mcpclient.WithTimeout(whole))
	}
	return opts
}
