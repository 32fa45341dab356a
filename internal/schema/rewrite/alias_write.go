package rewrite

import (
	"maps"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// names replaces the names of properties by their aliases.
type names struct {
	doc    *tree.Document
	byName map[string]string // aliases
	odd    []string          // the names that have an alias, sorted
}

// newNames returns nil if no name in the document needs an alias.
func newNames(doc *tree.Document) *names {
	a := &names{doc: doc, byName: map[string]string{}}
	for alias, name := range Aliases(doc.Root) {
		a.byName[name] = alias
	}
	if a.odd = slices.Sorted(maps.Keys(a.byName)); len(a.odd) == 0 {
		return nil
	}
	return a
}

// alias returns the alias of a property, if it has one.
func (a *names) alias(name string) (alias string, ok bool) {
	if a == nil {
		return "", false
	}
	alias, ok = a.byName[name]
	return alias, ok
}

// write replaces the names that a subschema mentions, but not those of its subschemas.
func (a *names) write(out map[string]any, at string, r *Report) {
	described := map[string]bool{}
	eachDescribed(out, func(name string) { described[name] = true })
	a.describeMatches(out)
	for _, key := range []string{"properties", "dependentSchemas", "dependentRequired"} {
		if named := tree.Object(out[key]); named != nil {
			out[key] = a.members(named, tree.Join(at, key), r)
		}
	}
	if required := tree.List(out["required"]); required != nil {
		out["required"] = a.list(required)
	}
	for _, key := range []string{"enum", "const"} {
		value, ok := out[key]
		if renamed, changed := a.value(value); ok && changed {
			out[key] = renamed
			r.Note(at, key, profile.Same, "the properties have the names of their descriptions")
		}
	}
	if says, ok := out["propertyNames"]; ok {
		a.propertyNames(out, says, described, at, r)
	}
}

// members gives the members of an object their aliases.
func (a *names) members(named map[string]any, at string, r *Report) map[string]any {
	out := make(map[string]any, len(named))
	for _, name := range tree.Keys(named) {
		says := named[name]
		if others, ok := says.([]any); ok {
			says = a.list(others)
		}
		alias, odd := a.byName[name]
		if odd {
			r.Note(tree.Join(at, name), "", profile.Same, "the property is called "+strconv.Quote(alias))
			name = alias
		}
		out[name] = says
	}
	return out
}

// list gives the names in a list their aliases.
func (a *names) list(all []any) []any {
	out := slices.Clone(all)
	for i, name := range out {
		if alias, odd := a.byName[tree.Text(name)]; odd && name == tree.Text(name) {
			out[i] = alias
		}
	}
	return out
}

// describeMatches describes the properties that only patterns describe, because their aliases may
// not match the patterns.
func (a *names) describeMatches(out map[string]any) {
	patterns := tree.Object(out["patternProperties"])
	properties := maps.Clone(tree.Object(out["properties"]))
	for _, pattern := range tree.Keys(patterns) {
		for _, name := range a.odd {
			if matches, _ := a.doc.Matches(pattern, name); !matches {
				continue
			}
			if properties == nil {
				properties = map[string]any{}
			}
			if old, ok := properties[name]; ok {
				properties[name] = allOf(old, patterns[pattern])
			} else {
				properties[name] = patterns[pattern]
			}
		}
	}
	if properties != nil {
		out["properties"] = properties
	}
}

// value gives the members of an enumerated value their aliases.
func (a *names) value(v any) (renamed any, changed bool) {
	switch v := v.(type) {
	case []any:
		out := slices.Clone(v)
		for i, item := range v {
			also := false
			out[i], also = a.value(item)
			changed = changed || also
		}
		return out, changed
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			alias, odd := a.byName[name]
			if !odd {
				alias = name
			}
			also := false
			out[alias], also = a.value(member)
			changed = changed || odd || also
		}
		return out, changed
	}
	return v, false
}

// propertyNames allows the aliases of the allowed names, and refuses the aliases of other described
// properties.
func (a *names) propertyNames(out map[string]any, says any, described map[string]bool, at string, r *Report) {
	var allowed, refused []any
	effect := profile.Same
	for _, name := range a.odd {
		alias := a.byName[name]
		fits, known := a.doc.Named(says, name)
		switch {
		case a.doc.Left == 0:
			delete(out, "propertyNames")
			r.Note(at, "propertyNames", profile.Wider, "left to validation: there are too many names")
			return
		case a.doc.Aliased(says, name, alias):
			allowed = append(allowed, alias)
			if !known {
				effect = profile.Wider
			}
		case known && !fits && described[name]:
			refused = append(refused, alias)
		}
	}
	if allowed == nil && refused == nil {
		return
	}
	if refused != nil {
		says = allOf(says, map[string]any{"not": map[string]any{"enum": refused}})
	}
	if s := tree.Object(says); allowed != nil && s["enum"] != nil && tree.HasOnly(s, "enum", "type") {
		says = tree.Without(s, "enum")
		tree.Object(says)["enum"] = a.list(tree.List(s["enum"]))
	} else if allowed != nil {
		says = map[string]any{"anyOf": []any{map[string]any{"enum": allowed}, says}}
	}
	out["propertyNames"] = says
	r.Note(at, "propertyNames", effect, "the properties have the names of their descriptions")
}
