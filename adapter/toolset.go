package adapter

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
)

// Toolset is the tools of several servers under one roof.
type Toolset struct {
	opts    *Options
	schemas schema.Cache
	servers []*server
	catalog catalog
}

// catalog is what the model is offered. It is built once and then only read.
type catalog struct {
	tools  []*Tool
	byName map[string]*Tool
	folded map[string]*Tool // by lower-case name: names are unique without case, too
}

// build names the tools and fills the catalog.
func (t *Toolset) build() {
	var all []*Tool
	var ids []identity
	for _, s := range t.servers {
		for _, tool := range s.tools {
			all = append(all, tool)
			ids = append(ids, identity{s.label, tool.def.Name})
		}
	}
	c := catalog{tools: all, byName: make(map[string]*Tool, len(all)), folded: make(map[string]*Tool, len(all))}
	for i, name := range assignNames(ids, t.opts.Prefix) {
		all[i].name = name
		c.byName[name] = all[i]
		c.folded[strings.ToLower(name)] = all[i]
	}
	t.catalog = c
}

// Tools returns the tools for langchaingo's agents, each a [*Tool]. These agents
// show a model the name and the description only, so the description tells
// what the input must look like.
func (t *Toolset) Tools() []tools.Tool {
	out := make([]tools.Tool, len(t.catalog.tools))
	for i, tool := range t.catalog.tools {
		out[i] = tool
	}
	return out
}

// Definitions returns the tools with their schemas, for [llms.WithTools].
//
// Parameters is a [json.RawMessage] with the schema as the server wrote it; a
// root that has no type or no properties gets them, because several providers
// refuse it otherwise. langchaingo's openai, anthropic, mistral and bedrock
// providers send it as it is. Its googleai and vertex providers accept nothing
// but a map[string]any in a narrow dialect.
func (t *Toolset) Definitions() []llms.Tool {
	out := make([]llms.Tool, len(t.catalog.tools))
	for i, tool := range t.catalog.tools {
		out[i] = llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
			Name:        tool.name,
			Description: tool.summary(),
			Parameters:  tool.parameters,
		}}
	}
	return out
}

// Lookup finds a tool by the name that the model knows it by.
func (t *Toolset) Lookup(name string) (*Tool, bool) {
	tool, ok := t.catalog.byName[name]
	return tool, ok
}

// resolve is Lookup for a name that a model wrote, whose case may be off.
func (t *Toolset) resolve(name string) (*Tool, bool) {
	if tool, ok := t.catalog.byName[name]; ok {
		return tool, true
	}
	tool, ok := t.catalog.folded[strings.ToLower(strings.TrimSpace(name))]
	return tool, ok
}

// ServerStatus tells how a server of a toolset fares.
type ServerStatus struct {
	Name    string            // the host's label
	Client  *mcpclient.Client // nil when Err is set
	Err     error             // why the server is left out
	Tools   []*Tool
	Skipped []SkippedTool
}

// SkippedTool is a tool that a server lists and that is not offered to the
// model, because its schema cannot be used, for instance. Tools that a filter leaves
// out are not among them.
type SkippedTool struct {
	Name string // as the server calls it
	Err  error
}

// Servers tells how the servers fare, in the order in which they were given.
func (t *Toolset) Servers() []ServerStatus {
	out := make([]ServerStatus, len(t.servers))
	for i, s := range t.servers {
		out[i] = ServerStatus{
			Name:    s.label,
			Client:  s.client,
			Err:     s.err,
			Tools:   append([]*Tool(nil), s.tools...),
			Skipped: append([]SkippedTool(nil), s.skipped...),
		}
		if s.err != nil {
			out[i].Client, out[i].Tools = nil, nil
		}
	}
	return out
}

// Close ends the connections that Open made, all at the same time, and returns
// when they have ended. Calls under way end with an error. It may be called more
// than once.
func (t *Toolset) Close() error {
	errs := make([]error, len(t.servers))
	var wg sync.WaitGroup
	for i, s := range t.servers {
		if s == nil {
			continue
		}
		wg.Go(func() {
			if err := s.close(); err != nil {
				errs[i] = fmt.Errorf("close server %q: %w", s.label, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
