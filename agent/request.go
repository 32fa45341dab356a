package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/internal/reminder"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// prepare returns the request of the next model call, after the hooks. It uses the present catalog, and may wait for other
// model calls to release their share of a limit. If the returned reason is a limit, the call is the last one.
func (d *dialog) prepare(stop StopReason) (*model.Request, StopReason, error) {
	a := d.agent
	d.engine.catalog = a.tools.Catalog(a.profile)
	if err := d.discover(); err != nil {
		return nil, stop, err
	}
	for at := d.engine; at != nil; at = at.parent {
		if err := a.checkPrices(at.rec.state.Limits.Cost); err != nil {
			return nil, stop, err
		}
	}
	system, err := d.system()
	if err != nil {
		return nil, stop, err
	}
	q := d.request(system, stop != StopOutput)
	if stop == StopOutput {
		if stop, err = d.spendingLimit(q); err != nil {
			return nil, stop, err
		}
		if stop != StopOutput {
			q = d.request(system, true)
		}
	}
	return q, stop, hooks(a.opts.Hooks).beforeModel(d.engine.ctx, d.rec.state, q)
}

// request returns the request to the model, perhaps the final one, before limits and hooks change it.
func (d *dialog) request(system string, final bool) *model.Request {
	a, settings := d.agent, &d.agent.opts.Model
	q := &model.Request{
		System: system, Messages: slices.Clip(d.rec.state.History), Tools: d.requestTools(), Format: a.outputFormat,
		MaxTokens: settings.MaxTokens, Temperature: settings.Temperature, Effort: settings.Effort,
		Stream: !a.info.NoStreaming && !settings.NoStreaming, Endpoint: d.rec.state.Endpoint, CacheKey: d.cacheKey(), Scratch: &d.scratch,
	}
	d.askForAnswer(q, final)
	return q
}

// cacheKey returns a key that is the same for all requests of the run, and for no other run. It
// does not reveal the run's id or tenant.
func (d *dialog) cacheKey() string {
	if d.key == "" {
		root := d.rec.writer.root
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %q", root.Tenant, root.ID, root.Created.UnixMilli(), d.rec.path))
		d.key = hex.EncodeToString(sum[:16])
	}
	return d.key
}

// askForAnswer appends a reminder if the request is the final one, or output has to be repaired. A final request offers
// only the output tool; without one, it does not allow calls.
func (d *dialog) askForAnswer(q *model.Request, final bool) {
	tool := d.engine.outputTool()
	text := ""
	switch {
	case tool != nil && (final || d.rec.state.Repairs > 0):
		h := d.rec.state.History
		afterModel := len(h) > 0 && h[len(h)-1].Role == run.RoleAssistant
		text = reminder.Output(tool.Name(), afterModel)
	case final:
		text = reminder.Last
	}
	if d.agent.outputFormat != nil {
		text = strings.TrimSpace(text + "\n" + d.engine.complaint())
	}
	if text != "" {
		q.Messages = append(q.Messages, run.Text(run.RoleUser, text))
	}
	switch {
	case final && tool != nil:
		q.Tools = slices.DeleteFunc(slices.Clone(q.Tools), func(t model.Tool) bool { return t.Name != tool.Name() })
	case final && len(q.Tools) > 0:
		q.ToolChoice = model.ChoiceNone
	}
}

// requestTools returns the tools of a request: first the catalog's, then the tools that the run has added, in order and
// under the run's names. Added tools that no longer exist are left out. If the model has to search, the catalog's are
// replaced by the search tools and the output tool.
func (d *dialog) requestTools() []model.Tool {
	s, cache := d.rec.state, &d.tools
	all := cache.all(d.engine.catalog)
	if s.Discovery == ledger.DiscoveryNone && len(s.Offered) == 0 {
		return all
	}
	key := d.toolsKey()
	if cache.key == key {
		return slices.Clip(cache.requested)
	}
	var tools []model.Tool
	added, isAdded := d.addedTools(all)
	fromCatalog := func(t *adapter.Tool) bool { return !isAdded[t] }
	if s.Discovery != ledger.DiscoveryNone {
		tools = []model.Tool{d.agent.search.definition}
		if s.Discovery == ledger.DiscoveryCall {
			tools = append(tools, callDefinition)
		}
		fromCatalog = isAnswerTool
	}
	for i, t := range d.engine.catalog.Tools() {
		if fromCatalog(t) {
			tools = append(tools, all[i])
		}
	}
	cache.key, cache.requested = key, append(tools, added...)
	return slices.Clip(cache.requested)
}

// addedTools returns the tools that the run has added, without those that the model has to call
// through call_tool. all are the tools of the catalog. isAdded has all that the run has added.
func (d *dialog) addedTools(all []model.Tool) (added []model.Tool, isAdded map[*adapter.Tool]bool) {
	index := map[*adapter.Tool]int{}
	for i, t := range d.engine.catalog.Tools() {
		index[t] = i
	}
	isAdded = map[*adapter.Tool]bool{}
	s := d.rec.state
	for i := range s.Offered {
		tool, err := d.currentTool(&s.Offered[i])
		if err != nil {
			continue
		}
		isAdded[tool] = true
		if s.Discovery == ledger.DiscoveryCall && !s.Offered[i].Listed {
			continue
		}
		definition := d.agent.reader.definition // which is in no catalog
		if at, ok := index[tool]; ok {
			definition = all[at]
		}
		definition.Name = s.Offered[i].Name
		added = append(added, definition)
	}
	return added, isAdded
}

// toolCache holds the tools of a catalog and of the last request, as the model gets them.
type toolCache struct {
	catalog *adapter.Catalog // the source of tools
	tools   []model.Tool     // all

	key       toolsKey // of requested
	requested []model.Tool
}

// all returns the tools of a catalog, in its order. The caller must not modify them.
func (t *toolCache) all(c *adapter.Catalog) []model.Tool {
	if t.catalog != c {
		t.catalog, t.tools = c, definitions(c)
	}
	return slices.Clip(t.tools)
}

// toolsKey identifies the tools of a request: equal keys, equal tools.
type toolsKey struct {
	catalog *adapter.Catalog
	mode    ledger.Discovery
	added   int // number of tools that the run has added
}

func (d *dialog) toolsKey() toolsKey {
	return toolsKey{d.engine.catalog, d.rec.state.Discovery, len(d.rec.state.Offered)}
}

// definitions returns the tools of a catalog as a model gets them.
func definitions(c *adapter.Catalog) []model.Tool {
	all := c.Definitions()
	out := make([]model.Tool, len(all))
	for i, t := range all {
		schema, ok := t.Function.Parameters.(json.RawMessage)
		if !ok {
			schema, _ = jsonrpc.Marshal(t.Function.Parameters) // a decoded value always marshals
		}
		out[i] = model.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: schema, Strict: t.Function.Strict}
	}
	return out
}
