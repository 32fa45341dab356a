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
// model. A run with structured output and a sub-agent under another agent have copies, which differ
// in a few fields.
type recipe struct {
	model   model.Model
	info    model.Info
	profile profile.Profile
	learnt  *modelKnowledge // shared by copies

	opts      *Options // with defaults; the fields below are derived from it
	givenName string   // Options.Name, "" without one
	tools     adapter.Source
	subs      []*subAgent
	search    ownTool // finds tools
	reader    ownTool // reads stored results
	cache     *stateCache
	renewer   *renewer // nil without a store

	output       *adapter.Tool   // for structured output, see RunAs
	outputFormat json.RawMessage // the schema of text output; nil: output is the call of a tool
}

// modelKnowledge is what runs learn about a model.
type modelKnowledge struct {
	window atomic.Int64                // tokens of the model's window, as reported by it or its refusals; 0: unknown
	tools  atomic.Pointer[catalogSize] // the catalog that was measured last
}

// newRecipe checks the model and the options of an agent. Options that are not set get their defaults.
func newRecipe(m model.Model, options *Options) (*recipe, error) {
	if err := nilError("model", m); err != nil {
		return nil, err
	}
	opts, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	r := &recipe{model: m, info: m.Info(), learnt: new(modelKnowledge), opts: opts, cache: new(stateCache)}
	r.learnt.window.Store(max(r.info.Window, 0))
	r.profile = cmp.Or(r.info.Profile, profile.OpenAI)
	if all := profile.All(); !slices.Contains(all, r.profile) {
		return nil, fmt.Errorf("model: unknown profile %q: want one of %v", r.profile, all)
	}
	if options != nil {
		r.givenName = options.Name
	}
	if err := r.setTools(); err != nil {
		return nil, err
	}
	// Without prices and with a name the check is left to the run: the agent may become a sub-agent,
	// which uses the prices of its parent.
	if opts.Model.Prices != nil || r.info.Name == "" {
		if err := r.checkPrices(opts.Limits.Cost); err != nil {
			return nil, fmt.Errorf("options: %w", err)
		}
	}
	if opts.Durable.Store != nil {
		r.renewer = newRenewer(opts.Durable.Store, opts.Durable.LeaseTTL)
	}
	r.reader = newReader(r.profile)
	if r.search, err = newSearch(r.profile); err != nil {
		return nil, err
	}
	return r, nil
}

// setTools sets the tools and sub-agents of Options.Tools. The error names the wrong one.
func (r *recipe) setTools() error {
	if r.info.ToolsErr != nil && len(r.opts.Tools) > 0 {
		return fmt.Errorf("options: Tools: %w", r.info.ToolsErr)
	}
	for i, source := range r.opts.Tools {
		if err := nilError(fmt.Sprintf("options: Tools[%d]", i), source); err != nil {
			return err
		}
		if sub, ok := source.(*subAgent); ok {
			r.subs = append(r.subs, sub)
		}
	}
	var own []*adapter.Tool // functions and sub-agents, which may be parts of what a source wraps or merges
	for i, source := range r.opts.Tools {
		for _, tool := range source.Catalog(r.profile).Tools() {
			if !tool.Local() || tool.Server() == "" { // a toolset's
				continue
			}
			if slices.ContainsFunc(own, func(other *adapter.Tool) bool { return isLike(tool, other) }) {
				return fmt.Errorf("options: Tools[%d] has a second %q with the same definition: give it another name", i, tool.Definition().Name)
			}
			own = append(own, tool)
		}
	}
	for _, tool := range own {
		if isSubAgent(tool) && !slices.ContainsFunc(r.subs, func(s *subAgent) bool { return isLike(tool, s.tool) }) {
			return fmt.Errorf("options: Tools: the sub-agent %q is part of another source: let it be one of Tools", tool.Definition().Name)
		}
	}
	r.tools = adapter.Merge(r.opts.Tools...)
	return nil
}

// toolOf returns the tool of a function of this program.
func toolOf(function adapter.Source) *adapter.Tool { return function.Catalog(profile.Plain).Tools()[0] }

// ownTool is a tool of the agent itself.
type ownTool struct {
	tool       *adapter.Tool
	definition model.Tool // as models get it
}

func newOwnTool(function adapter.Source, p profile.Profile) ownTool {
	return ownTool{toolOf(function), definitions(function.Catalog(p))[0]}
}

// isLike reports whether calls of two tools cannot be distinguished.
func isLike(a, b *adapter.Tool) bool {
	return a.Server() == b.Server() && a.Definition().Name == b.Definition().Name && a.Fingerprint() == b.Fingerprint()
}

// nilError returns an error if an interface is nil or holds a nil pointer.
func nilError(name string, v any) error {
	if v == nil {
		return errors.New(name + " is nil")
	}
	if value := reflect.ValueOf(v); value.Kind() == reflect.Pointer && value.IsNil() {
		return fmt.Errorf("%s is a nil %T: check the error of its constructor", name, v)
	}
	return nil
}

// subAgent returns the sub-agent that a call means, nil if it means another tool.
func (r *recipe) subAgent(c *ledger.Call) *subAgent {
	i := slices.IndexFunc(r.subs, func(s *subAgent) bool { return isCallOf(c, s.tool) })
	if i < 0 {
		return nil
	}
	return r.subs[i]
}
