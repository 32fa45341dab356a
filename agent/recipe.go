package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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
	name     string // Options.Name, "" without one
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
	cache    *stateCache   // for Advance
	renewals *renewer      // nil without a store
}

// newRecipe checks the model and the options of an agent. What they do not say is set to its
// default.
func newRecipe(m model.Model, options *Options) (*recipe, error) {
	if m == nil {
		return nil, errors.New("model is nil")
	}
	if isNilPointer(m) {
		return nil, fmt.Errorf("model is a nil %T: check the error of its constructor", m)
	}
	opts, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &recipe{
		model: m, info: m.Info(), opts: opts,
		window: new(atomic.Int64), weighed: new(atomic.Pointer[weight]), cache: new(stateCache),
	}
	if options != nil {
		r.name = options.Name
	}
	r.window.Store(max(r.info.Window, 0))
	if opts.Durable.Store != nil {
		r.renewals = newRenewer(opts.Durable.Store, opts.Durable.LeaseTTL)
	}
	if opts.Model.Prices != nil || r.info.Name == "" { // a sub-agent without prices uses those of its parent
		if err := r.checkPrices(opts.Limits.Cost); err != nil {
			return nil, fmt.Errorf("options: %w", err)
		}
	}
	if r.info.NoTools != nil && len(opts.Tools) > 0 {
		return nil, fmt.Errorf("options: Tools: %w", r.info.NoTools)
	}
	r.profile = cmp.Or(r.info.Profile, profile.OpenAI)
	if all := profile.All(); !slices.Contains(all, r.profile) {
		return nil, fmt.Errorf("the model names the profile %q, which is not one of %v", r.profile, all)
	}
	for i, source := range opts.Tools {
		if source == nil {
			return nil, fmt.Errorf("options: Tools[%d] is nil", i)
		}
		if isNilPointer(source) {
			return nil, fmt.Errorf("options: Tools[%d] is a nil %T: check the error of its constructor", i, source)
		}
		if sub, ok := source.(*SubAgent); ok {
			r.subs = append(r.subs, sub)
		}
	}
	r.tools, r.reader = adapter.Merge(opts.Tools...), newReader(r.profile)
	r.finder, err = newFinder(r.profile)
	return r, err
}

// isNilPointer reports whether an interface holds a nil pointer.
func isNilPointer(v any) bool {
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// sub returns the sub-agent that a call means, nil if it means another tool.
func (r *recipe) sub(c *ledger.Call) *SubAgent {
	i := slices.IndexFunc(r.subs, func(s *SubAgent) bool { return isCallOf(c, s.Tool()) })
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
