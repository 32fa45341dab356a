package adapter

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter/internal/search"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/toolschema"
)

// Search returns at most limit tools that match a query, the best first, and none if limit is not positive. It searches
// names, titles, descriptions, parameters, servers and groups. It also finds tools by related words ("photo" finds
// "image"), by Chinese words for English ones and the reverse, and by words with one mistyped letter. It uses the first 64
// words of a query and 400 of a tool. Tools that match equally keep the order of the catalog. A function is also found by
// its [FuncOptions].Topics. The first call builds an index.
func (c *Catalog) Search(query string, limit int) []*Tool {
	c.indexed.Do(func() {
		docs := newDocs(c.tools)
		c.found = slices.Clone(c.tools)
		for _, t := range c.tools {
			if t.topics != nil {
				docs = append(docs, t.topics.docs...)
				c.found = append(c.found, slices.Repeat([]*Tool{t}, len(t.topics.docs))...)
			}
		}
		c.words = search.New(docs)
	})
	var out []*Tool
	for _, n := range c.words.Search(query, len(c.found)) {
		if t := c.found[n]; len(out) < limit && (t.topics == nil || !slices.Contains(out, t)) {
			out = append(out, t)
		}
	}
	return out
}

// topics are what a function provides by name, with an index. See [FuncOptions].Topics.
type topics struct {
	docs  []search.Doc
	index func() *search.Index
}

// newTopics returns the topics of a function, nil for none.
func newTopics(all map[string]string) *topics {
	if len(all) == 0 {
		return nil
	}
	s := &topics{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s.docs = append(s.docs, search.Doc{Name: name, Description: all[name]})
	}
	s.index = sync.OnceValue(func() *search.Index { return search.New(s.docs) })
	return s
}

// SearchTopics yields at most limit names and purposes from [FuncOptions.Topics] that match a query, the best first.
func (t *Tool) SearchTopics(query string, limit int) iter.Seq2[string, string] {
	return func(yield func(name, purpose string) bool) {
		if t.topics == nil {
			return
		}
		for _, n := range t.topics.index().Search(query, limit) {
			if d := t.topics.docs[n]; !yield(d.Name, d.Description) {
				return
			}
		}
	}
}

// newDocs returns the documents of tools for the index, in their order.
func newDocs(tools []*Tool) []search.Doc {
	docs := make([]search.Doc, len(tools))
	for i, t := range tools {
		title := t.def.Title
		if title == "" && t.def.Annotations != nil {
			title = t.def.Annotations.Title
		}
		docs[i] = search.Doc{
			Name: cmp.Or(t.own, t.def.Name), Title: title, Description: t.def.Description, Params: paramText(t.shown.InputSchema),
			Server: t.server.label + "\n" + strings.Join(toolschema.Groups(t.def.Meta), "\n"),
		}
	}
	return docs
}

// paramText returns the names, descriptions and choices of an object's properties.
func paramText(schema json.RawMessage) string {
	var b strings.Builder
	_ = jsonrpc.Members(jsonrpc.Lookup(schema, "properties"), func(key, value []byte) {
		b.Write(key)
		b.WriteByte(' ')
		if text, ok := jsonrpc.OptionalString(jsonrpc.Lookup(value, "description")); ok {
			b.WriteString(text)
		}
		for _, choice := range toolschema.Strings(jsonrpc.Lookup(value, "enum")) {
			b.WriteByte(' ')
			b.WriteString(choice)
		}
		b.WriteByte('\n')
	})
	return b.String()
}
