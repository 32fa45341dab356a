package agent

import (
	"slices"
	"sync/atomic"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/convert"
	"github.com/mcpchain/mcpchain/agent/run"
)

// recipe is what an agent is made of. It does not change, but for what is learned of its model: a run with a structured answer
// and a sub-agent under another agent have recipes of their own.
type recipe struct {
	model       llms.Model
	name        string  // as the options have it, "" without one
	asked       string  // the model that the options ask for, "" for its default
	provider    string  // of the model, see Options.Provider
	temperature float64 // of calls for which none is asked; 0: none is set
	maxTokens   int     // of a reply, as the options ask for; 0: not said
	tools       adapter.Source
	subs        []*SubAgent
	output      *adapter.Tool   // for a structured answer, see As
	format      llms.CallOption // by which the answer is the model's text; nil: it is given by the tool
	opts        *Options
	dialect     convert.Dialect
	profile     adapter.Profile
	window      *atomic.Int64 // of the model in tokens, as its refusals told; 0: unknown
}

// sub returns the sub-agent that a call means, nil for another tool.
func (r *recipe) sub(c *run.Call) *SubAgent {
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

// streams reports whether to stream the model's text.
func (r *recipe) streams() bool {
	switch r.opts.Stream {
	case StreamAlways:
		return true
	case StreamNever:
		return false
	}
	s, ok := r.model.(interface{ StreamsToolCalls() bool })
	return ok && s.StreamsToolCalls()
}

// modelName is the name by which the model's price is found before it has answered.
func (r *recipe) modelName() string {
	if m, ok := r.model.(interface{ ModelName() string }); ok && r.asked == "" {
		return m.ModelName()
	}
	return r.asked
}

// maxOutput bounds the tokens of a reply if tokens or costs are limited.
func (r *recipe) maxOutput() int64 {
	if r.maxTokens > 0 {
		return int64(r.maxTokens)
	}
	if m, ok := r.model.(interface{ MaxTokens() int }); ok && m.MaxTokens() > 0 {
		return int64(m.MaxTokens())
	}
	return defaultOutput
}
