package adapter

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter/internal/search"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// groupsKey is where a tool names the groups that it belongs to.
const groupsKey = "io.modelcontextprotocol/groups"

// Search returns the tools of the catalog that the words of a query fit best, the best first: at most limit. It looks
// at their names, titles, descriptions, parameters, servers and groups, for related words too ("photo" finds what has
// "image"), for the Chinese or English for a word, and takes a mistyped word for one that differs by a letter. Of a query 64 words count, of a tool's text 400.
// Equal tools keep the order of the catalog. A function is found by what it serves, too. The first call makes an index.
func (c *Catalog) Search(query string, limit int) []*Tool {
	c.indexed.Do(func() {
		docs := docsOf(c.tools)
		c.servers = make([]*Tool, len(c.tools), len(docs))
		copy(c.servers, c.tools)
		for _, t := range c.tools {
			if t.serves != nil {
				docs = append(docs, t.serves.docs...)
				c.servers = append(c.servers, slices.Repeat([]*Tool{t}, len(t.serves.docs))...)
			}
		}
		c.words = search.New(docs)
	})
	var out []*Tool
	for _, n := range c.words.Search(query, len(c.servers)) {
		if t := c.servers[n]; len(out) < limit && (t.serves == nil || !slices.Contains(out, t)) {
			out = append(out, t)
		}
	}
	return out
}

// servings is what a function gives by name, with its index.
type servings struct {
	docs  []search.Doc
	index func() *search.Index
}

func served(all map[string]string) *servings {
	if len(all) == 0 {
		return nil
	}
	s := &servings{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s.docs = append(s.docs, search.Doc{Name: name, Description: all[name]})
	}
	s.index = sync.OnceValue(func() *search.Index { return search.New(s.docs) })
	return s
}

// Serving returns what the function gives ([FuncOptions].Serves), and what each is for, that the words of a query fit best,
// the best first: at most limit.
func (t *Tool) Serving(query string, limit int) iter.Seq2[string, string] {
	return func(yield func(name, about string) bool) {
		if t.serves == nil {
			return
		}
		for _, n := range t.serves.index().Search(query, limit) {
			if d := t.serves.docs[n]; !yield(d.Name, d.Description) {
				return
			}
		}
	}
}

func docsOf(tools []*Tool) []search.Doc {
	docs := make([]search.Doc, len(tools))
	for i, t := range tools {
		title := t.def.Title
		if title == "" && t.def.Annotations != nil {
			title = t.def.Annotations.Title
		}
		docs[i] = search.Doc{
			Name: t.def.Name, Title: title, Description: t.def.Description, Params: paramsOf(t.def.InputSchema),
			Server: t.policy.label + "\n" + strings.Join(t.Groups(), "\n"),
		}
	}
	return docs
}

// Groups are the names of the groups that the server puts the tool in.
func (t *Tool) Groups() []string { return stringsIn(jsonrpc.Lookup(t.def.Meta, groupsKey)) }

// paramsOf are the names, descriptions and choices of an object's properties.
func paramsOf(schema json.RawMessage) string {
	var b strings.Builder
	_ = jsonrpc.Members(jsonrpc.Lookup(schema, "properties"), func(key, value []byte) {
		b.Write(key)
		b.WriteByte(' ')
		if text, ok := jsonrpc.OptionalString(jsonrpc.Lookup(value, "description")); ok {
			b.WriteString(text)
		}
		for _, choice := range stringsIn(jsonrpc.Lookup(value, "enum")) {
			b.WriteByte(' ')
			b.WriteString(choice)
		}
		b.WriteByte('\n')
	})
	return b.String()
}

// stringsIn are the strings in a value that is a string, or a list of strings or of objects with a name or a title.
func stringsIn(raw json.RawMessage) (out []string) {
	var groups []json.RawMessage
	if json.Unmarshal(raw, &groups) != nil {
		groups = []json.RawMessage{raw}
	}
	for _, g := range groups {
		for _, raw := range []json.RawMessage{g, jsonrpc.Lookup(g, "name"), jsonrpc.Lookup(g, "title")} {
			if text, ok := jsonrpc.String(raw); ok {
				out = append(out, text)
			}
		}
	}
	return out
}
