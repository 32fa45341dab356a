package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// recipe is the configuration of an agent. It is constant, except for what is learnt about the
// model. A run with structured output and a sub-agent under another agent have recipes of their
// own.
type recipe struct {
	model    model.Model
	info     model.Info
	names    []string // of the models that may reply
	name     string   // as the options have it, "" without one
	tools    adapter.Source
	subs     []*SubAgent
	finder   *finder
	weighed  *atomic.Pointer[weight] // the catalog that was measured last
	reader   *reader
	output   *adapter.Tool   // for structured output, see As
	format   json.RawMessage // of output that is text; nil: a tool gives it
	opts     *Options
	profile  profile.Profile
	window   *atomic.Int64 // tokens of the model's window, as reported by it or its refusals; 0: unknown
	stepped  *stepped      // for Advance
	renewals *renewer      // nil without a store
}

// sub returns the sub-agent that a call means, nil if it means another tool.
func (r *recipe) sub(c *ledger.Call) *SubAgent {
	i := slices.IndexFunc(r.subs, func(s *SubAgent) bool { return means(c, s.Tool()) })
	if i < 0 {
		return nil
	}
	return r.subs[i]
}

// maxOutput bounds the tokens of a reply if tokens or costs are limited.
func (r *recipe) maxOutput() int64 {
	if n := cmp.Or(r.opts.Model.MaxTokens, r.info.MaxTokens); n > 0 {
		return int64(n)
	}
	return defaultOutput
}
