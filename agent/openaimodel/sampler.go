package openaimodel

import (
	"cmp"

	"github.com/mcpchain/mcpchain/sampling"
)

// Sampler lends the model to MCP servers: it completes their sampling requests at the same host, as opts say. The API, the
// host's kind, the effort, the extra fields, retries and bounds of the model hold where opts have none. Nil is valid, see
// [sampling.Options].
func (m *Model) Sampler(opts *sampling.Options) (*sampling.Sampler, error) {
	var o sampling.Options
	if opts != nil {
		o = *opts
	}
	own := &m.options
	o.API, o.Host = cmp.Or(o.API, own.API), cmp.Or(o.Host, own.Host)
	o.ReasoningEffort = cmp.Or(o.ReasoningEffort, own.ReasoningEffort)
	o.Retries = cmp.Or(o.Retries, own.Retries)
	o.Timeout, o.IdleTimeout = cmp.Or(o.Timeout, own.Timeout), cmp.Or(o.IdleTimeout, own.IdleTimeout)
	if o.Extra == nil {
		o.Extra = own.Extra
	}
	return sampling.New(m.host, m.model, &o)
}
