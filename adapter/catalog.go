package adapter

import (
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// Catalog is what a model is offered at one time: tools, their names, and their
// schemas for one provider. It never changes: a name in the model's reply means
// the tool that was offered under it, although servers may have changed
// meanwhile. Take one for each call of the model, and answer the reply with the
// same one. The zero value is a catalog of no tools.
type Catalog struct {
	calls   *calls
	tools   []*Tool
	byName  map[string]*Tool
	folded  map[string]*Tool // by lower-case name: names are unique without case, too
	offered definitions
}

func newCatalog(run *calls, all []*Tool, p Profile) *Catalog {
	c := &Catalog{
		calls: run, tools: make([]*Tool, len(all)), offered: *define(all, p),
		byName: make(map[string]*Tool, len(all)), folded: make(map[string]*Tool, len(all)),
	}
	for i, tool := range all {
		tool = tool.shownAs(c.offered.wrapped[i])
		c.tools[i], c.byName[tool.name], c.folded[strings.ToLower(tool.name)] = tool, tool, tool
	}
	return c
}

// maxResult bounds a text that is about no tool.
func (c *Catalog) maxResult() int {
	if c.calls == nil {
		return minResult
	}
	return c.calls.maxResult
}

// Definitions returns the tools with their schemas, for [llms.WithTools].
//
// Parameters is a [json.RawMessage], and for Gemini and GoogleAI a
// map[string]any, which is shared and must not be changed. The schema of [Plain] is
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
func (c *Catalog) Changes() []SchemaChange { return append([]SchemaChange(nil), c.offered.changes...) }

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
