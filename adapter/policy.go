package adapter

import (
	"cmp"
	"log/slog"
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
	trust   Trust
	approve ApproveFunc // nil: every call is allowed

	idleTimeout, callTimeout time.Duration
	maxResult, maxMedia      int
	errors                   ErrorMode
	checkOutputs             bool
	compiler                 schemacheck.Validator // of output schemas, unless the client has one

	log *slog.Logger
}

func newPolicy(o *Options, s *Server) *policy {
	p := &policy{
		label: s.Name, origin: originOf(s), trust: s.Trust, approve: o.Approve,
		idleTimeout: cmp.Or(s.IdleTimeout, o.IdleTimeout), callTimeout: cmp.Or(s.CallTimeout, o.CallTimeout),
		maxResult: max(positive(s.MaxResult, o.MaxResult), minResult), maxMedia: positive(s.MaxMedia, o.MaxMedia),
		errors: cmp.Or(s.Errors, o.Errors), checkOutputs: o.CheckOutputs, log: o.Logger,
	}
	if s.Approve != nil {
		p.approve = s.Approve
	}
	return p
}

// limits bound a call where the host has bounds of its own.
func (p *policy) limits() (opts []mcpclient.CallOption) {
	if p.idleTimeout != 0 {
		opts = append(opts, mcpclient.WithIdleTimeout(p.idleTimeout))
	}
	if p.callTimeout != 0 {
		opts = append(opts, mcpclient.WithTimeout(p.callTimeout))
	}
	return opts
}

func positive[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}
