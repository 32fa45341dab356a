package toolschema

import (
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// object repairs the members of an object. It drops null from optional members
// that cannot be null: models write null for "not given".
func (r *repair) object(sub, v map[string]any) map[string]any {
	properties, _ := sub["properties"].(map[string]any)
	required := stringList(sub["required"])
	if _, rest := sub["additionalProperties"]; len(properties) == 0 && sub["patternProperties"] == nil && !rest || !r.doc.Spend(len(v)) {
		return v
	}
	patterns := r.patternsOf(sub)
	out := make(map[string]any, len(v))
	for name, member := range v {
		says := r.rulesFor(sub, patterns, name)
		if _, described := properties[name]; described && member == nil && r.doc.Spend(len(required)) && !slices.Contains(required, name) &&
			slices.ContainsFunc(says, func(s any) bool { return !r.fits(s, nil) }) {
			continue
		}
		for _, s := range says {
			member = r.value(s, member)
		}
		out[name] = member
	}
	return out
}

// patternsOf lists sub's patterns of names, none if there are too many.
func (r *repair) patternsOf(sub map[string]any) []string {
	patterns, _ := sub["patternProperties"].(map[string]any)
	if len(patterns) == 0 || !r.doc.Spend(len(patterns)) {
		return nil
	}
	return slices.Sorted(maps.Keys(patterns))
}

// rulesFor lists sub's subschemas for the member of a name: the property, the
// matching patterns, or else the subschema for all others.
func (r *repair) rulesFor(sub map[string]any, patterns []string, name string) []any {
	properties, _ := sub["properties"].(map[string]any)
	says, described := properties[name]
	var out []any
	if described {
		out = append(out, says)
	}
	for _, pattern := range patterns {
		matches, known := r.doc.Matches(pattern, name)
		if matches {
			out = append(out, sub["patternProperties"].(map[string]any)[pattern])
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

// array repairs the items of an array. It uses the schema of contains for items
// without other rules, if no item fits contains, or if the schema has
// unevaluatedItems.
func (r *repair) array(sub map[string]any, v []any) []any {
	if !r.doc.Spend(len(v)) {
		return v
	}
	out := make([]any, len(v))
	for i, item := range v {
		out[i] = r.value(itemOf(sub, i), item)
	}
	if demand, ok := sub["contains"]; ok {
		_, closed := sub["unevaluatedItems"]
		if closed || !slices.ContainsFunc(out, func(item any) bool { return r.fits(demand, item) }) {
			r.demanded(sub, demand, out)
		}
	}
	if sub["uniqueItems"] == true {
		return distinct(out)
	}
	return out
}

// demanded turns items without a description into the values that contains
// demands, if their texts spell these.
func (r *repair) demanded(sub map[string]any, demand any, items []any) {
	for i, item := range items {
		if itemOf(sub, i) != nil {
			continue
		}
		if w := r.value(demand, item); r.fits(demand, w) {
			items[i] = w
		}
	}
}

// distinct leaves out repeated items: a list of unique items is a set.
func distinct(items []any) []any {
	seen := make(map[any]bool, len(items))
	return slices.DeleteFunc(items, func(item any) bool {
		key := tree.Identity(item)
		there := seen[key]
		seen[key] = true
		return there
	})
}

// itemOf is the subschema of the item at an index, nil if there is none.
func itemOf(sub map[string]any, i int) any {
	prefix, items := list(sub["prefixItems"]), sub["items"]
	if tuple, ok := items.([]any); ok { // up to 2019-09
		prefix, items = tuple, sub["additionalItems"]
	}
	if i < len(prefix) {
		return prefix[i]
	}
	return items
}

// unevaluated repairs the members and the items without other rules in sub.
func (r *repair) unevaluated(sub map[string]any, v any) any {
	switch v := v.(type) {
	case map[string]any:
		rest, ok := sub["unevaluatedProperties"].(map[string]any)
		if !ok || !r.doc.Spend(len(v)) {
			return v
		}
		out := make(map[string]any, len(v))
		for name, member := range v {
			says := func(s map[string]any) bool { return len(r.rulesFor(s, r.patternsOf(s), name)) > 0 }
			if !r.evaluates(sub, v, "unevaluatedProperties", says) {
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
			says := func(s map[string]any) bool {
				demand, ok := s["contains"]
				return itemOf(s, i) != nil || ok && r.fits(demand, item)
			}
			if !r.evaluates(sub, v, "unevaluatedItems", says) {
				item = r.value(rest, item)
			}
			out[i] = item
		}
		return out
	}
	return v
}

// evaluates reports whether sub, or a subschema that it applies to v, evaluates
// a part of v: says is true for it, or it has the keyword itself.
func (r *repair) evaluates(sub map[string]any, v any, keyword string, says func(map[string]any) bool) bool {
	if says(sub) {
		return true
	}
	return slices.ContainsFunc(r.holding(sub, v), func(s any) bool {
		part, ok := r.enter(s)
		if !ok {
			return false
		}
		defer r.leave()
		_, all := part[keyword]
		return all || r.evaluates(part, v, keyword, says)
	})
}

// holding lists the subschemas that sub applies to v and that v fits.
func (r *repair) holding(sub map[string]any, v any) []any {
	out := slices.Concat([]any{r.target(sub)}, list(sub["allOf"]))
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, b := range list(sub[keyword]) {
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
