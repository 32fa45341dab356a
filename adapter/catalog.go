package adapter

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/internal/search"
	"github.com/mcpchain/mcpchain/adapter/profile"
)

// Catalog is what a model is offered in one request: tools, their names, and their schemas for
// one provider. It is immutable: a name in the model's reply means the tool that was offered
// under it, even if servers have changed since. Take a new catalog for each model call, and use
// it to answer the reply. The zero value has no tools.
type Catalog struct {
	tools   []*Tool
	byName  map[string]*Tool
	folded  map[string]*Tool // by lower-case name: names are unique regardless of case
	offered definitions

	parallelism int // of one Dispatch
	maxResult   int // bytes of a text that belongs to no tool

	indexed sync.Once // guards the following fields, for Search
	words   *search.Index
	found   []*Tool // by document of the index
}

// catalogs are the catalogs of the same tools for all profiles, each built when it is needed.
type catalogs map[profile.Profile]func() *Catalog

func newCatalogs(tools []*Tool, o *Options) catalogs {
	all := catalogs{}
	for _, p := range profile.All() {
		all[p] = sync.OnceValue(func() *Catalog { return newCatalog(tools, p, o.Parallelism, o.Policy.MaxResult) })
	}
	return all
}

// of returns the catalog for a profile, always the same value. It panics if the profile is unknown.
func (all catalogs) of(p profile.Profile) *Catalog {
	build, ok := all[cmp.Or(p, profile.Plain)]
	if !ok {
		panic(fmt.Sprintf("adapter: unknown profile %q", p))
	}
	return build()
}

// newCatalog returns the catalog of a source.
func newCatalog(all []*Tool, p profile.Profile, parallelism, maxResult int) *Catalog {
	offered := define(all, p)
	shown := make([]*Tool, len(all))
	for i, tool := range all {
		shown[i] = tool.shownAs(offered.wrapped[i])
	}
	c := &Catalog{offered: *offered, parallelism: parallelism, maxResult: maxResult}
	c.index(shown)
	return c
}

// index adds tools with distinct names to the catalog.
func (c *Catalog) index(all []*Tool) {
	c.tools = all
	c.byName = make(map[string]*Tool, len(all))
	c.folded = make(map[string]*Tool, len(all))
	for _, tool := range all {
		c.byName[tool.name] = tool
		c.folded[strings.ToLower(tool.name)] = tool
	}
}

// Definitions returns the tools with their schemas, for [llms.WithTools].
//
// Parameters is a [json.RawMessage], except for Gemini and GoogleAI, where it is a shared
// map[string]any that must not be modified. With [profile.Plain] it is the schema as the server
// wrote it; langchaingo's openai, anthropic, mistral and bedrock providers pass it on unchanged.
func (c *Catalog) Definitions() []llms.Tool {
	if len(c.offered.tools) == 0 {
		return nil
	}
	out := make([]llms.Tool, len(c.offered.tools))
	functions := make([]llms.FunctionDefinition, len(out))
	for i, tool := range c.offered.tools {
		functions[i] = *tool.Function
		out[i] = llms.Tool{Type: tool.Type, Function: &functions[i]}
	}
	return out
}

// Changes lists what the profile changed in the servers' schemas.
//
// Changes without an effect on a model are omitted: removed $schema, $id, $comment and x-
// keywords and unused definitions, and objects that were closed to other properties because the
// provider requires it, if their schemas say nothing about those.
func (c *Catalog) Changes() []profile.Change {
	return append([]profile.Change(nil), c.offered.changes...)
}

// Tools returns the tools, in the order of the definitions.
func (c *Catalog) Tools() []*Tool { return append([]*Tool(nil), c.tools...) }

// Lookup returns the tool for a name that a model wrote. It ignores case and surrounding spaces.
func (c *Catalog) Lookup(name string) (*Tool, bool) {
	if tool, ok := c.byName[name]; ok {
		return tool, true
	}
	tool, ok := c.folded[strings.ToLower(strings.TrimSpace(name))]
	return tool, ok
}

// Find returns the tool with a server's label, the server's own name for the tool, and a
// fingerprint ("" for any). With it a call that was made in another process finds its tool, see
// [Tool.Prepare] and [Tool.Restore]. The error is an [ErrStale].
func (c *Catalog) Find(server, name, fingerprint string) (*Tool, error) {
	var found *Tool
	known, equal := 0, 0
	for _, tool := range c.tools {
		if tool.def.Name != name || tool.policy.label != server {
			continue
		}
		known++
		if fingerprint == "" || tool.fingerprint == fingerprint {
			found = tool
			equal++
		}
	}
	if equal == 1 {
		return found, nil
	}
	err := &staleToolError{tool: name, server: server, reason: toolChanged}
	switch {
	case equal > 1:
		err.reason = toolAmbiguous
	case known == 0:
		err.reason = toolGone
	}
	return nil, err
}
