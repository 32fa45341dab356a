package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Discover specifies when a model searches for its tools, and how it gets what it finds. The zero
// value is valid.
//
// A model that searches has a tool search_tools, and an overview of the servers in its instructions.
// Searches cover the tools that the agent offers, so they never find a tool that a toolset hides from
// models; the model cannot call another tool before it has found it. The found tools are stored with
// the run, in order, and stay the same in another process and after a compaction. Sub-agents search
// for themselves.
type Discover struct {
	// Threshold is the share of the model's window that all definitions together may take before
	// the model has to search. It is evaluated before the first model call of an input; a run
	// that searches continues to. An unknown window counts as 128,000 tokens. At most 1. Default
	// 0: 5 %, but at least 1,000 tokens; negative: the model never searches.
	Threshold float64

	// Mode specifies how the model gets what it finds. Default: [DiscoveryNative], or [DiscoveryCall]
	// for models whose providers lose their cache of a conversation when a tool is added
	// (model.Info.ToolsFirst). With [DiscoveryProvider] OpenAI and Anthropic add what was found to the
	// conversation by their own tool search; for other models it is the same as [DiscoveryNative].
	Mode DiscoveryMode

	// Always reports which tools the model has without a search. Default: functions with
	// [adapter.FuncOptions.AlwaysOffered], such as those of a skillset. The tool of a structured
	// output is always there.
	Always func(*adapter.Tool) bool

	// Rank orders tools by how well they match a query, the best first, for example with
	// embeddings. Its order is merged with the index's order by the reciprocal ranks of the
	// first 100 of each; tools that it was not given are ignored. After an error or a panic
	// only the index counts, with a [Warning]. It may be called concurrently. Default: none.
	Rank func(ctx context.Context, query string, tools []*adapter.Tool) ([]*adapter.Tool, error)
}

// DiscoveryMode is a way in which a model gets the tools that it finds.
type DiscoveryMode string

const (
	DiscoveryNative   DiscoveryMode = "native" // each tool that is found is added to the model's tools
	DiscoveryCall     DiscoveryMode = "call"   // found tools are definitions in the result; the model calls them through one tool
	DiscoveryProvider DiscoveryMode = "host"   // as DiscoveryNative, but through the provider's own tool search if it has one
)

// check returns an error for an option that makes no sense.
func (o *Discover) check() error {
	switch {
	case !(o.Threshold <= 1): // also refuses NaN
		return fmt.Errorf("Discover.Threshold is %v; give a share of the window up to 1, 0 for %v, or a negative number for never",
			o.Threshold, defaultShare)
	case !slices.Contains([]DiscoveryMode{"", DiscoveryNative, DiscoveryCall, DiscoveryProvider}, o.Mode):
		return fmt.Errorf("Discover.Mode is %q; want %q, %q or %q", o.Mode, DiscoveryNative, DiscoveryCall, DiscoveryProvider)
	}
	return nil
}

const (
	defaultShare  = 0.05
	defaultWindow = 128_000 // in tokens, of a model that names none
	leastTokens   = 1_000   // of definitions: a search for fewer costs more than it saves
)

// discover decides before the first model call of an input whether the model has to search. For a
// model that searches it adds the tools that it always has, again when the catalog has changed.
func (d *dialog) discover() error {
	s := d.rec.state
	begins := s.Model == nil && s.Turn == 1 && s.Repairs == 0 // Spent.Turns does not tell: a compaction may have called a model
	change := &ledger.Offered{}
	switch {
	case s.Discovery == ledger.DiscoveryNone && begins && d.mustSearch():
		change.Discovery = ledger.DiscoveryNative
		if d.agent.info.ToolsFirst {
			change.Discovery = ledger.DiscoveryCall
		}
		change.Discovery = cmp.Or(ledger.Discovery(d.agent.opts.Discover.Mode), change.Discovery)
		change.Directory = directory(d.engine.catalog, change.Discovery)
	case s.Discovery == ledger.DiscoveryNone || d.discoveredFor == d.engine.catalog:
		return nil
	}
	if err := d.addAlways(change); err != nil {
		return err
	}
	d.discoveredFor = d.engine.catalog
	if change.Discovery == ledger.DiscoveryNone && len(change.Tools) == 0 {
		return nil
	}
	return d.rec.record(nil, change)
}

// mustSearch reports whether the definitions of all tools take too much of the window, see
// [Discover.Threshold].
func (d *dialog) mustSearch() bool {
	share := d.agent.opts.Discover.Threshold
	window := float64(cmp.Or(d.agent.learnt.window.Load(), defaultWindow))
	limit := share * window
	switch {
	case share < 0:
		return false
	case share == 0:
		limit = max(defaultShare*window, leastTokens)
	}
	w := d.agent.learnt.tools.Load()
	if w == nil || w.catalog != d.engine.catalog {
		all := &model.Request{Tools: d.tools.all(d.engine.catalog)}
		w = &catalogSize{d.engine.catalog, model.Tokens(all, &d.agent.info)}
		d.agent.learnt.tools.Store(w)
	}
	return float64(w.tokens) > limit
}

// catalogSize is the size of a catalog's definitions in a request.
type catalogSize struct {
	catalog *adapter.Catalog
	tokens  int64
}

// addAlways adds the tools that the model has without a search. If the conversation takes no more, it
// warns and adds the first of them.
func (d *dialog) addAlways(to *ledger.Offered) error {
	isWanted := d.agent.opts.Discover.Always
	if isWanted == nil {
		isWanted = (*adapter.Tool).AlwaysOffered
	}
	return guard("Discover.Always", func() error {
		n := newNamer(d.rec.state)
		for _, tool := range d.engine.catalog.Tools() {
			if isAnswerTool(tool) || !isWanted(tool) {
				continue
			}
			_, added, err := n.add(to, tool)
			if err != nil {
				d.warnOnce(fmt.Sprintf("Discover.Always: %v", err))
				return nil
			}
			if added {
				to.Tools[len(to.Tools)-1].Listed = true
			}
		}
		return nil
	})
}

// isAnswerTool reports whether t is the tool of a structured output, which every request has.
func isAnswerTool(t *adapter.Tool) bool {
	return t.Server() == answerServer && t.Definition().Name == answerTool
}

// namer names the tools that a run adds. A tool's name in the catalog may change when servers
// join; in the run it must not.
type namer struct {
	state *ledger.State
	taken map[string]bool // in lower case
}

func newNamer(s *ledger.State) *namer {
	n := &namer{s, map[string]bool{searchTool: true, callTool: true, answerTool: true}}
	for i := range s.Offered {
		n.taken[strings.ToLower(s.Offered[i].Name)] = true
	}
	return n
}

// errFull is the error of a tool for which the run has no room.
var errFull = fmt.Errorf("no more than %d tools can be added to a conversation", ledger.MaxOffered)

// add adds a tool to a change unless the run has it, and returns the tool's name in the run and whether it was added.
// The error is errFull if there is no room for it.
func (n *namer) add(to *ledger.Offered, t *adapter.Tool) (_ string, added bool, _ error) {
	server, name := t.Server(), t.Definition().Name
	for _, all := range [][]ledger.OfferedTool{n.state.Offered, to.Tools} {
		for i := range all {
			if all[i].Server == server && all[i].Tool == name {
				return all[i].Name, false, nil
			}
		}
	}
	if len(n.state.Offered)+len(to.Tools) >= ledger.MaxOffered {
		return "", false, errFull
	}
	unique := t.Name()
	for i := 2; n.taken[strings.ToLower(unique)]; i++ {
		suffix := fmt.Sprint("_", i)
		unique = t.Name()[:min(len(t.Name()), maxToolName-len(suffix))] + suffix
	}
	n.taken[strings.ToLower(unique)] = true
	to.Tools = append(to.Tools, ledger.OfferedTool{Server: server, Tool: name, Def: t.Fingerprint(), Name: unique})
	return unique, true, nil
}

// maxToolName is the longest name that providers accept, in bytes. Names in a catalog are ASCII.
const maxToolName = 64

// currentTool returns the present version of a tool that the run has added, or an error if there is
// none.
func (d *dialog) currentTool(t *ledger.OfferedTool) (*adapter.Tool, error) {
	if isReaderEntry(t) {
		return d.agent.reader.tool, nil
	}
	c := d.engine.catalog
	tool, err := c.LookupStored(t.Server, t.Tool, t.Def)
	if errors.Is(err, adapter.ErrStale) { // it may have changed
		tool, err = c.LookupStored(t.Server, t.Tool, "")
	}
	return tool, err
}

// newCalls returns the calls of the turn for the calls of a reply.
func (d *dialog) newCalls(asked []run.Part) []ledger.Call {
	keys := d.rec.callKeys(asked)
	calls := make([]ledger.Call, len(asked))
	for i := range asked {
		p, c := &asked[i], &calls[i]
		tool, name, arguments := d.resolveName(p.Name, p.Arguments)
		*c = ledger.Call{ID: p.ID, Key: keys[i], Name: name, Asked: arguments, At: ledger.CallProposed}
		if tool != nil {
			c.Server, c.Tool = tool.Server(), tool.Definition().Name
			c.Def = tool.Fingerprint()
			c.Wrapped = tool.Wrapped()
		}
	}
	return calls
}

// resolveName returns the tool that the model means by a name, its name for the model, and the
// arguments. If the model calls through call_tool, both are in the arguments of that call. The tool is
// nil if the model has not found it.
func (d *dialog) resolveName(name, arguments string) (*adapter.Tool, string, string) {
	s := d.rec.state
	if s.Discovery == ledger.DiscoveryNone && len(s.Offered) == 0 {
		tool, _ := d.engine.catalog.Lookup(name)
		return tool, name, arguments
	}
	if s.Discovery != ledger.DiscoveryNone && isSameName(name, searchTool) {
		return d.agent.search.tool, searchTool, arguments
	}
	if s.Discovery == ledger.DiscoveryCall && isSameName(name, callTool) {
		if inner, given, err := parseCallTool(arguments); err == nil {
			name, arguments = inner, given
		}
	}
	for i := range s.Offered {
		if t := &s.Offered[i]; isSameName(name, t.Name) {
			if tool, err := d.currentTool(t); err == nil {
				return tool, t.Name, arguments
			}
		}
	}
	tool, ok := d.engine.catalog.Lookup(name)
	if !ok || s.Discovery != ledger.DiscoveryNone && !isAnswerTool(tool) {
		return nil, name, arguments
	}
	return tool, name, arguments
}
