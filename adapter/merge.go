package adapter

import (
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/adapter/profile"
)

// Source provides tools for models: a [*Toolset], a function ([Func]), or several sources combined by [Merge]. The labels
// of servers should be unique among the sources of one agent, see [Catalog.LookupStored].
type Source interface {
	// Catalog returns the present tools for a provider. The value stays the same until they
	// change. It panics if the profile is unknown.
	Catalog(profile.Profile) *Catalog
}

// union is several sources as one, see [Merge].
type union struct {
	sources []Source

	mu   sync.Mutex
	last map[profile.Profile]*mergedCatalog
}

// mergedCatalog is a catalog with those that it was merged from.
type mergedCatalog struct {
	parts []*Catalog
	all   *Catalog
}

var _, _ Source = (*Toolset)(nil), (*union)(nil)

// Merge combines sources. Its catalogs have the tools of all, in the order of the sources.
// Approvals, interceptors and bounds of each tool come from its source. Names that are
// equal, regardless of case, get distinguishing suffixes. Nil sources are ignored.
func Merge(sources ...Source) Source {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s Source) bool { return s == nil })
	if len(sources) == 0 {
		return &funcSource{catalogs: newCatalogs(nil, new(Options))}
	}
	return &union{sources: sources, last: map[profile.Profile]*mergedCatalog{}}
}

// Catalog returns the present tools of all sources. The merged catalog is built once, and again
// when a source's catalog has changed.
func (m *union) Catalog(p profile.Profile) *Catalog {
	if len(m.sources) == 1 {
		return m.sources[0].Catalog(p)
	}
	parts := make([]*Catalog, 0, 8)
	for _, s := range m.sources {
		parts = append(parts, s.Catalog(p))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.last[p]; last != nil && slices.Equal(last.parts, parts) {
		return last.all
	}
	all := merge(parts)
	m.last[p] = &mergedCatalog{parts: slices.Clone(parts), all: all}
	return all
}

// merge combines catalogs. Its bounds are the largest of theirs.
func merge(catalogs []*Catalog) *Catalog {
	var names []string
	var ids []identity
	seen := map[identity]int{}
	for _, c := range catalogs {
		for _, tool := range c.tools {
			id := identity{server: tool.server.label, tool: tool.def.Name}
			names = append(names, tool.name)
			ids = append(ids, identity{server: id.server, tool: id.tool, copy: seen[id]})
			seen[id]++
		}
	}
	addSuffixes(names, ids)
	out := &Catalog{}
	for _, c := range catalogs {
		out.maxResult = max(out.maxResult, c.maxResult)
		renamed := c.withNames(names[len(out.tools):][:len(c.tools)])
		out.tools = append(out.tools, renamed.tools...)
		out.definitions = append(out.definitions, renamed.definitions...)
		out.changes = append(out.changes, renamed.changes...)
	}
	out.index()
	return out
}

// withNames returns a copy of the catalog with other names. Only its tools, definitions and changes are set.
func (c *Catalog) withNames(names []string) *Catalog {
	out := &Catalog{tools: make([]*Tool, len(names)), definitions: slices.Clone(c.definitions)}
	newNames := map[string]string{} // keys are the old names
	for i, name := range names {
		out.tools[i] = c.tools[i].withName(name)
		if old := c.tools[i].name; old != name {
			newNames[old] = name
			function := *c.definitions[i].Function
			function.Name = name
			out.definitions[i].Function = &function
		}
	}
	for _, change := range c.changes {
		if name, ok := newNames[change.Tool]; ok {
			change.Tool = name
		}
		out.changes = append(out.changes, change)
	}
	for i, tool := range out.tools {
		if tool != c.tools[i] && tool.isReader() {
			out.setReader(tool)
		}
	}
	return out
}

// setReader sets, in the tools of the reader's toolset, the model's name of the tool that reads their long results.
func (c *Catalog) setReader(reader *Tool) {
	for i, tool := range c.tools {
		if tool.calls == reader.calls {
			renamed := *tool
			renamed.reader = reader.name
			c.tools[i] = &renamed
		}
	}
}
