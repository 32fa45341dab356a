package adapter

import (
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/internal/search"
	"github.com/mcpchain/mcpchain/adapter/profile"
)

// Catalog is what a model is offered at one time: tools, their names, and their
// schemas for one provider. It never changes: a name in the model's reply means
// the tool that was offered under it, although servers may have changed
// meanwhile. Take one for each call of the model, and answer the reply with the
// same one. The zero value is a catalog of no tools.
type Catalog struct {
	tools   []*Tool
	byName  map[string]*Tool
	folded  map[string]*Tool // by lower-case name: names are unique without case, too
	offered definitions

	parallelism int // of one Dispatch
	maxResult   int // bytes of a text that is about no tool

	indexed sync.Once // guards the next two, for Search
	words   *search.Index
	servers []*Tool // of what is in the index
}

// newCatalog makes a catalog of the tools of one source.
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

// index fills the catalog with tools whose names differ.
func (c *Catalog) index(all []*Tool) {
	c.tools, c.byName, c.folded = all, make(map[string]*Tool, len(all)), make(map[string]*Tool, len(all))
	for _, tool := range all {
		c.byName[tool.name], c.folded[strings.ToLower(tool.name)] = tool, tool
	}
}

// Definitions returns the tools with their schemas, for [llms.WithTools].
//
// Parameters is a [json.RawMessage], and for Gemini and GoogleAI a
// map[string]any, which is shared and must not be changed. The schema of [profile.Plain] is
// as the server wrote it; langchaingo's openai, anthropic, mistral and bedrock
// providers send it as it is.
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

// Changes lists what the profile had to change in the schemas of the servers.
//
// Two kinds are left out, because they change nothing for a model: removed
// keywords such as $schema, $id, $comment and x- ones, and definitions without
// references; and an object closed to other properties for a provider that wants
// it, if its schema is silent about them.
func (c *Catalog) Changes() []profile.Change {
	return append([]profile.Change(nil), c.offered.changes...)
}

// Tools returns the tools, in the order of the definitions.
func (c *Catalog) Tools() []*Tool { return append([]*Tool(nil), c.tools...) }

// Lookup finds a tool by a name that a model wrote: its case may be off, and it
// may have spaces around it.
func (c *Catalog) Lookup(name string) (*Tool, bool) {
	if tool, ok := c.byName[name]; ok {
		return tool, true
	}
	tool, ok := c.folded[strings.ToLower(strings.TrimSpace(name))]
	return tool, ok
}

// Find finds a tool by what was kept of it: its server's label, the server's own name
// of it, and its fingerprint ("" for any). So a call that a model has made in another process comes to
// the tool that was meant: see [Tool.Prepare] and [Tool.Restore]. The error is
// [ErrStale].
func (c *Catalog) Find(server, name, fingerprint string) (*Tool, error) {
	var found *Tool
	known, equal := 0, 0
	for _, tool := range c.tools {
		if tool.def.Name != name || tool.policy.label != server {
			continue
		}
		if known++; fingerprint == "" || tool.fingerprint == fingerprint {
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
