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

// recipe is what an agent is made of. It does not change, but for what is learned of its model: a run with a structured answer
// and a sub-agent under another agent have recipes of their own.
type recipe struct {
	model    model.Model
	info     model.Info
	names    []string // of the models that may answer
	name     string   // as the options have it, "" without one
	tools    adapter.Source
	subs     []*SubAgent
	finder   *finder
	weighed  *atomic.Pointer[weight] // the catalog that was weighed last
	reader   *reader
	output   *adapter.Tool   // for a structured answer, see As
	format   json.RawMessage // of an answer that is text; nil: it is given by the tool
	opts     *Options
	profile  profile.Profile
	window   *atomic.Int64 // of the model in tokens, as it or its refusals told; 0: unknown
	stepped  *stepped      // by Advance
	renewals *renewer      // nil without a store
}

// sub returns the sub-agent that a call means, nil for another tool.
func (r *recipe) sub(c *ledger.Call) *SubAgent {
	if c.Server != subServer {
		return nil
	}
	i := slices.IndexFunc(r.subs, func(s *SubAgent) bool {
		t := s.Tool()
		return t.Definition().Name == c.Tool && t.Fingerprint() == c.Def
	})
	if i < 0 {
		return nil
	}
	return r.subs[i]
}

// modelName is the name by which the model's price is found before it has answered.
func (r *recipe) modelName() string { return r.info.Name }

// maxOutput bounds the tokens of a reply if tokens or costs are limited.
func (r *recipe) maxOutput() int64 {
	if n := cmp.Or(r.opts.Model.MaxTokens, r.info.MaxTokens); n > 0 {
		return int64(n)
	}
	return defaultOutput
}
