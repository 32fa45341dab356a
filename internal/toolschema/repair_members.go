package toolschema

import (
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// object repairs the members of an object. It drops optional members that are null but must not be:
// models write null for "not given".
func (r *repair) object(sub, v map[string]any) map[string]any {
	properties := tree.Object(sub["properties"])
	required := tree.Strings(sub["required"])
	_, describesRest := sub["additionalProperties"]
	describesNone := len(properties) == 0 && sub["patternProperties"] == nil && !describesRest
	if describesNone || !r.doc.Spend(len(v)) {
		return v
	}
	patterns := r.patternsOf(sub)
	out := make(map[string]any, len(v))
	for name, member := range v {
		rules := r.rulesFor(sub, patterns, name)
		_, described := properties[name]
		if member == nil && described && r.doc.Spend(len(required)) && !slices.Contains(required, name) && !r.fitsAll(rules, nil) {
			continue
		}
		for _, s := range rules {
			member = r.value(s, member)
		}
		out[name] = member
	}
	return out
}

func (r *repair) fitsAll(rules []any, v any) bool {
	return !slices.ContainsFunc(rules, func(s any) bool { return !r.fits(s, v) })
}

// patternsOf returns sub's patterns of names, none if there are too many.
func (r *repair) patternsOf(sub map[string]any) []string {
	patterns := tree.Object(sub["patternProperties"])
	if !r.doc.Spend(len(patterns)) {
		return nil
	}
	return tree.Keys(patterns)
}

// rulesFor returns sub's subschemas for the member with this name: of the property, of matching
// patterns, or else of all other members.
func (r *repair) rulesFor(sub map[string]any, patterns []string, name string) []any {
	property, described := tree.Object(sub["properties"])[name]
	var out []any
	if described {
		out = append(out, property)
	}
	for _, pattern := range patterns {
		matches, known := r.doc.Matches(pattern, name)
		if matches {
			out = append(out, tree.Object(sub["patternProperties"])[pattern])
		}
		if described = described || matches || !known; r.doc.Left == 0 {
			break
		}
	}
	if rest, ok := sub["additionalProperties"]; ok && !described {
		out = append(out, rest)
	}
	return out
}

// array repairs the items of an array. If no item fits contains, or if the schema has
// unevaluatedItems, it repairs items without other rules by the schema of contains.
func (r *repair) array(sub map[string]any, v []any) []any {
	if !r.doc.Spend(len(v)) {
		return v
	}
	out := make([]any, len(v))
	for i, item := range v {
		out[i] = r.value(itemOf(sub, i), item)
	}
	if contains, ok := sub["contains"]; ok {
		_, closed := sub["unevaluatedItems"]
		if closed || !slices.ContainsFunc(out, func(item any) bool { return r.fits(contains, item) }) {
			r.repairContained(sub, contains, out)
		}
	}
	if sub["uniqueItems"] == true { // a list of unique items is a set
		seen := tree.Set{}
		out = slices.DeleteFunc(out, func(item any) bool { return !seen.Add(item) })
	}
	return out
}

// repairContained repairs items without other rules by the schema of contains, if they then fit it.
func (r *repair) repairContained(sub map[string]any, contains any, items []any) {
	for i, item := range items {
		if itemOf(sub, i) != nil {
			continue
		}
		if w := r.value(contains, item); r.fits(contains, w) {
			items[i] = w
		}
	}
}

// itemOf returns the subschema of the item at an index, or nil.
func itemOf(sub map[string]any, i int) any {
	prefix, items := tree.List(sub["prefixItems"]), sub["items"]
	if tuple, ok := items.([]any); ok { // up to 2019-09
		prefix, items = tuple, sub["additionalItems"]
	}
	if i < len(prefix) {
		return prefix[i]
	}
	return items
}

// unevaluated repairs the members and items that no other rule of sub describes.
func (r *repair) unevaluated(sub map[string]any, v any) any {
	switch v := v.(type) {
	case map[string]any:
		rest, ok := sub["unevaluatedProperties"].(map[string]any)
		if !ok || !r.doc.Spend(len(v)) {
			return v
		}
		out := make(map[string]any, len(v))
		for name, member := range v {
			describes := func(s map[string]any) bool { return len(r.rulesFor(s, r.patternsOf(s), name)) > 0 }
			if !r.evaluates(sub, v, "unevaluatedProperties", describes) {
				member = r.value(rest, member)
			}
			out[name] = member
		}
		return out
	case []any:
		rest, ok := sub["unevaluatedItems"].(map[string]any)
		if !ok || !r.doc.Spend(len(v)) {
			return v
		}
		out := make([]any, len(v))
		for i, item := range v {
			describes := func(s map[string]any) bool {
				contains, ok := s["contains"]
				return itemOf(s, i) != nil || ok && r.fits(contains, item)
			}
			if !r.evaluates(sub, v, "unevaluatedItems", describes) {
				item = r.value(rest, item)
			}
			out[i] = item
		}
		return out
	}
	return v
}

// evaluates reports whether sub, or a subschema that it applies to v, evaluates a part of v:
// describes returns true for it, or it has the keyword itself.
func (r *repair) evaluates(sub map[string]any, v any, keyword string, describes func(map[string]any) bool) bool {
	if describes(sub) {
		return true
	}
	return slices.ContainsFunc(r.holding(sub, v), func(s any) bool {
		part, ok := r.enter(s)
		if !ok {
			return false
		}
		defer r.leave()
		_, all := part[keyword]
		return all || r.evaluates(part, v, keyword, describes)
	})
}

// holding returns the subschemas that sub applies to v and that v fits.
func (r *repair) holding(sub map[string]any, v any) []any {
	out := slices.Concat([]any{r.target(sub)}, tree.List(sub["allOf"]))
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, b := range tree.List(sub[keyword]) {
			if r.fits(b, v) {
				out = append(out, b)
			}
		}
	}
	if condition, ok := sub["if"]; ok {
		key := r.outcome(condition, v)
		if out = append(out, sub[key]); key == "then" {
			out = append(out, condition)
		}
	}
	if object, ok := v.(map[string]any); ok {
		out = append(out, r.dependents(sub, object)...)
	}
	return out
}
