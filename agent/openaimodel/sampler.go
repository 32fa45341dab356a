package openaimodel

import (
	"cmp"

	"github.com/mcpchain/mcpchain/sampling"
)

// Sampler returns a sampler that answers the sampling requests of MCP servers with this model at
// the same provider. These options of the model apply where opts leave them zero: API, Host,
// Effort, Extra, Retries, Timeout and IdleTimeout. opts may be nil.
func (m *Model) Sampler(opts *sampling.Options) (*sampling.Sampler, error) {
	var o sampling.Options
	if opts != nil {
		o = *opts
	}
	own := &m.options
	o.API, o.Host = cmp.Or(o.API, own.API), cmp.Or(o.Host, own.Host)
	o.Effort = cmp.Or(o.Effort, own.Effort)
	o.Retries = cmp.Or(o.Retries, own.Retries)
	o.Timeout, o.IdleTimeout = cmp.Or(o.Timeout, own.Timeout), cmp.Or(o.IdleTimeout, own.IdleTimeout)
	if o.Extra == nil {
		o.Extra = own.Extra
	}
	return sampling.New(m.host, m.model, &o)
}
