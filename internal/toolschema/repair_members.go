package toolschema

import (
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// object repairs the members of an object. It drops members that are null but must not be, if they are described and
// optional: models write null for "not given".
func (r *repair) object(sub, v map[string]any) map[string]any {
	properties := tree.Object(sub["properties"])
	required := tree.Strings(sub["required"])
	rest, keyword := tree.Rest(sub)
	describesNone := len(properties) == 0 && sub["patternProperties"] == nil && keyword == ""
	if describesNone || !r.doc.Spend(len(v)) {
		return v
	}
	patterns := r.namePatterns(sub)
	out := make(map[string]any, len(v))
	for name, member := range v {
		rules := r.rulesFor(sub, patterns, name)
		_, described := properties[name]
		if member == nil && described && r.doc.Spend(len(required)) &&
			!slices.Contains(required, name) && !r.fitsAll(rules, nil) {
			continue
		}
		if len(rules) == 0 && keyword == "unevaluatedProperties" && !r.isDescribedBelow(sub, name) {
			rules = []any{rest}
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

// namePatterns returns sub's patterns of names, none if there are too many.
func (r *repair) namePatterns(sub map[string]any) []string {
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
		described = described || matches || !known
		if r.doc.Left == 0 {
			break
		}
	}
	if rest, ok := sub["additionalProperties"]; ok && !described {
		out = append(out, rest)
	}
	return out
}

// array repairs the items of an array, and drops repeated ones if they must be unique.
func (r *repair) array(sub map[string]any, v []any) []any {
	if !r.doc.Spend(len(v)) {
		return v
	}
	out := make([]any, len(v))
	for i, item := range v {
		rule := itemSchema(sub, i)
		if rule == nil {
			rule = sub["unevaluatedItems"]
		}
		out[i] = r.value(rule, item)
	}
	if sub["uniqueItems"] == true { // a list of unique items is a set
		seen := tree.Set{}
		out = slices.DeleteFunc(out, func(item any) bool { return !seen.Add(item) })
	}
	return out
}

// itemSchema returns the subschema of the item at an index, or nil.
func itemSchema(sub map[string]any, i int) any {
	prefix, items := tree.List(sub["prefixItems"]), sub["items"]
	if tuple, ok := items.([]any); ok { // up to 2019-09
		prefix, items = tuple, sub["additionalItems"]
	}
	if i < len(prefix) {
		return prefix[i]
	}
	return items
}

// isDescribedBelow reports whether a subschema that sub applies to the same object has a rule for the member with this
// name. It does not ask whether the object fits the subschema.
func (r *repair) isDescribedBelow(sub map[string]any, name string) bool {
	parts := []any{r.target(sub)}
	for place, part := range tree.Each(sub) {
		if place.Kind == tree.InPlace {
			parts = append(parts, part)
		}
	}
	return slices.ContainsFunc(parts, func(s any) bool {
		part, ok := r.descend(s)
		if !ok {
			return false
		}
		defer r.ascend()
		return len(r.rulesFor(part, r.namePatterns(part), name)) > 0 || r.isDescribedBelow(part, name)
	})
}
