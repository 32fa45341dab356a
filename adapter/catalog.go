package adapter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/internal/search"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// Catalog is what a model is offered in one request: tools, their names, and their schemas for one provider. It is
// immutable: a name in the model's reply means the tool that was offered under it, even if servers have changed since.
// Take a new catalog for each model call, and use it to answer the reply. The zero value has no tools.
type Catalog struct {
	tools       []*Tool
	definitions []llms.Tool // in the order of the tools
	changes     []profile.Change
	byName      map[string]*Tool
	folded      map[string]*Tool // keys are lower-case names: names are unique regardless of case

	maxResult int // bounds texts that belong to no tool, in bytes

	indexed sync.Once // guards the following fields, for Search
	words   *search.Index
	found   []*Tool // indexes are documents of words
}

// catalogs are the catalogs of the same tools for all profiles, each built when it is needed.
type catalogs map[profile.Profile]func() *Catalog

func newCatalogs(tools []*Tool, o *Options) catalogs {
	all := catalogs{}
	for _, p := range profile.All() {
		all[p] = sync.OnceValue(func() *Catalog { return newCatalog(tools, p, o.Policy.MaxResult) })
	}
	return all
}

// find returns the catalog for a profile, always the same value. It panics if the profile is unknown.
func (all catalogs) find(p profile.Profile) *Catalog {
	build, ok := all[cmp.Or(p, profile.Plain)]
	if !ok {
		panic(fmt.Sprintf("adapter: unknown profile %q", p))
	}
	return build()
}

// newCatalog returns the catalog of tools with distinct names for a provider.
func newCatalog(all []*Tool, p profile.Profile, maxResult int) *Catalog {
	c := &Catalog{
		tools:       make([]*Tool, len(all)),
		definitions: make([]llms.Tool, len(all)),
		maxResult:   maxResult,
	}
	rooms := map[*serverState]*rewrite.Room{} // so that schemas of one server take no room from those of another
	for i, tool := range all {
		if rooms[tool.server] == nil {
			rooms[tool.server] = &rewrite.Room{}
		}
		written := tool.input.For(p, rooms[tool.server])
		function := &llms.FunctionDefinition{
			Name: tool.name, Description: tool.summary(), Parameters: written.Parameters, Strict: written.Strict,
		}
		if p == profile.Gemini || p == profile.GoogleAI { // langchaingo's providers take no bytes
			function.Parameters = written.Root
		}
		c.tools[i] = tool.shownAs(written.Wrapped)
		c.definitions[i] = llms.Tool{Type: "function", Function: function}
		for _, change := range written.Changes {
			change.Tool = tool.name
			c.changes = append(c.changes, change)
		}
	}
	c.index()
	return c
}

// index makes the tools known by their names.
func (c *Catalog) index() {
	c.byName = make(map[string]*Tool, len(c.tools))
	c.folded = make(map[string]*Tool, len(c.tools))
	for _, tool := range c.tools {
		c.byName[tool.name] = tool
		c.folded[strings.ToLower(tool.name)] = tool
	}
}

// Definitions returns the tools with their schemas, for [llms.WithTools].
//
// Parameters is shared and must not be modified: a map[string]any for Gemini and GoogleAI, otherwise a
// [json.RawMessage]. With [profile.Plain] it is the server's schema, with at most its root completed; langchaingo's openai,
// anthropic, mistral and bedrock providers pass it on unchanged.
func (c *Catalog) Definitions() []llms.Tool {
	if len(c.definitions) == 0 {
		return nil
	}
	out := make([]llms.Tool, len(c.definitions))
	functions := make([]llms.FunctionDefinition, len(out))
	for i, tool := range c.definitions {
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
	return slices.Clone(c.changes)
}

// Tools returns the tools, in the order of the definitions.
func (c *Catalog) Tools() []*Tool { return slices.Clone(c.tools) }

// Lookup returns the tool for a name that a model wrote, and whether there is one. It ignores case
// and surrounding spaces.
func (c *Catalog) Lookup(name string) (*Tool, bool) {
	if tool, ok := c.byName[name]; ok {
		return tool, true
	}
	tool, ok := c.folded[strings.ToLower(strings.TrimSpace(name))]
	return tool, ok
}

// LookupStored returns the tool with a server's label, the server's own name for the tool, and a
// fingerprint ("" for any). With it a call that was made in another process finds its tool, see
// [Tool.Prepare] and [Tool.Restore]. The error matches [ErrStale] if no tool has the name, or several do.
func (c *Catalog) LookupStored(server, name, fingerprint string) (*Tool, error) {
	var found *Tool
	named, matching := 0, 0
	for _, tool := range c.tools {
		if tool.def.Name != name || tool.server.label != server {
			continue
		}
		named++
		if fingerprint == "" || tool.fingerprint == fingerprint {
			found = tool
			matching++
		}
	}
	reason := toolGone
	switch {
	case matching == 1:
		return found, nil
	case matching > 1:
		reason = toolAmbiguous
	case named > 0:
		reason = toolChanged
	}
	return nil, &staleToolError{tool: name, server: server, reason: reason}
}
