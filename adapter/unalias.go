package adapter

import (
	"maps"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// restore turns back what a profile makes models write differently and what
// would not be noticed by validation: placeholders, and other names of
// properties. Values are never changed in place.
func (t *Tool) restore(args map[string]any) map[string]any {
	if _, ok := args[rewrite.Placeholder]; ok && len(t.shape.properties) == 0 {
		args = maps.Clone(args)
		delete(args, rewrite.Placeholder)
	}
	if !t.odd {
		return args
	}
	restored, _ := newRepair(t.schema.Root()).names(t.schema.Root(), args, schema.MaxDepth).(map[string]any)
	return restored
}

// names gives properties their own names where v has their aliases.
func (r *repair) names(s, v any, depth int) any {
	r.left--
	sub := r.resolve(s)
	if sub == nil || r.left < 0 || depth == 0 {
		return v
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range list(sub[keyword]) {
			v = r.names(part, v, depth-1)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		properties, _ := sub["properties"].(map[string]any)
		out := make(map[string]any, len(v))
		aliases := rewrite.Aliases(properties)
		for key, member := range v {
			name := key
			if own, ok := aliases[key]; ok {
				if _, both := v[own]; !both {
					name = own
				}
			}
			property, ok := properties[name]
			if !ok {
				property = sub["additionalProperties"]
			}
			out[name] = r.names(property, member, depth-1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.names(sub["items"], item, depth-1)
		}
		return out
	}
	return v
}

// isOdd reports whether some property below a schema has a name that not all
// providers take.
func isOdd(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok && len(rewrite.Aliases(properties)) > 0 {
			return true
		}
		for _, member := range v {
			if isOdd(member) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if isOdd(item) {
				return true
			}
		}
	}
	return false
}
