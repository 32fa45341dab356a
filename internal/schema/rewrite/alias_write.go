package rewrite

import (
	"maps"
	"slices"
	"strconv"
)

// plainNames gives properties names that Anthropic takes, wherever they are named.
func (w *writer) plainNames(out map[string]any, at string) {
	if w.target != Anthropic {
		return
	}
	if w.aliases == nil {
		w.aliases = map[string]string{}
		for alias, name := range DocumentAliases(w.doc.Root) {
			w.aliases[name] = alias
		}
		w.odd = slices.Sorted(maps.Keys(w.aliases))
	}
	if len(w.aliases) == 0 {
		return
	}
	described := map[string]bool{} // and only by aliases afterwards
	eachDescribed(out, func(name string) { described[name] = true })
	w.patternedNames(out)
	for _, key := range []string{"properties", "dependentSchemas", "dependentRequired"} {
		if named := object(out[key]); named != nil {
			out[key] = w.renamed(named, join(at, key))
		}
	}
	if required := list(out["required"]); required != nil {
		out["required"] = w.aliased(required)
	}
	w.plainValues(out, at)
	w.plainNamesOf(out, described, at)
}

// renamed gives the members of what is listed by the name of a property their
// aliases.
func (w *writer) renamed(named map[string]any, at string) map[string]any {
	out := make(map[string]any, len(named))
	for _, name := range keys(named) {
		says := named[name]
		if others, ok := says.([]any); ok {
			says = w.aliased(others)
		}
		alias, odd := w.aliases[name]
		if !odd {
			out[name] = says
			continue
		}
		out[alias] = says
		w.note(join(at, name), "", Same, "the property is called "+strconv.Quote(alias))
	}
	return out
}

// aliased lists names of properties as they are called.
func (w *writer) aliased(all []any) []any {
	out := slices.Clone(all)
	for i, name := range out {
		if alias, odd := w.aliases[text(name)]; odd && name == text(name) {
			out[i] = alias
		}
	}
	return out
}

// patternedNames describes properties that are only described by patterns of
// their names, which their aliases may not match.
func (w *writer) patternedNames(out map[string]any) {
	patterns := object(out["patternProperties"])
	if len(patterns) == 0 {
		return
	}
	properties := maps.Clone(object(out["properties"]))
	for _, name := range w.odd {
		for _, pattern := range keys(patterns) {
			if matches, _ := w.doc.Matches(pattern, name); !matches {
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

// plainValues gives the members of enumerated objects their aliases.
func (w *writer) plainValues(out map[string]any, at string) {
	for _, key := range []string{"enum", "const"} {
		value, ok := out[key]
		if !ok {
			continue
		}
		if called, changed := w.called(value); changed {
			out[key] = called
			w.note(at, key, Same, "properties are called as they are where they are described")
		}
	}
}

// called is an enumerated value with the aliases of its members. It returns false
// for one that has none, which stays as it is.
func (w *writer) called(v any) (called any, changed bool) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			also := false
			out[i], also = w.called(item)
			changed = changed || also
		}
		if changed {
			return out, true
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			alias, odd := w.aliases[name]
			if !odd {
				alias = name
			}
			also := false
			out[alias], also = w.called(member)
			changed = changed || odd || also
		}
		if changed {
			return out, true
		}
	}
	return v, false
}

// plainNamesOf lets an object have the aliases of the names that its propertyNames
// allows, and not those of others that are described.
func (w *writer) plainNamesOf(out map[string]any, described map[string]bool, at string) {
	says, ok := out["propertyNames"]
	if !ok {
		return
	}
	var allowed, refused []any
	effect := Same
	for _, name := range w.odd {
		alias := w.aliases[name]
		fits, known := w.doc.named(says, name, maxApart)
		switch {
		case w.doc.Left == 0:
			delete(out, "propertyNames")
			w.note(at, "propertyNames", Wider, "left to validation: there are too many names")
			return
		case w.doc.Aliased(says, name, alias):
			allowed = append(allowed, alias)
			if !known {
				effect = Wider
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
	switch values := object(says)["enum"]; {
	case allowed == nil:
	case values != nil && onlyEnumerates(object(says)):
		says = maps.Clone(object(says))
		object(says)["enum"] = w.aliased(list(values))
	default:
		says = map[string]any{"anyOf": []any{map[string]any{"enum": allowed}, says}}
	}
	out["propertyNames"] = says
	w.note(at, "propertyNames", effect, "the properties are called as they are where they are described")
}

// onlyEnumerates reports whether a subschema says nothing of texts but which of them
// it allows.
func onlyEnumerates(s map[string]any) bool {
	for key := range s {
		if key != "enum" && key != "type" && !slices.Contains(remarks, key) {
			return false
		}
	}
	return true
}
