package toolschema

import (
	"maps"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// restore undoes changes of a profile that validation would not notice: placeholders, and aliases
// of properties. It never changes a value in place.
func (s *Schema) restore(args map[string]any) map[string]any {
	if _, ok := args[rewrite.Placeholder]; ok && !s.shape.has(rewrite.Placeholder) {
		args = maps.Clone(args)
		delete(args, rewrite.Placeholder)
	}
	if len(s.aliases) == 0 {
		return args
	}
	u := unaliaser{newRepair(s.Root()), s.aliases}
	restored, _ := u.value([]any{s.Root()}, args, schema.MaxDepth).(map[string]any)
	return restored
}

// unaliaser replaces the aliases of properties by their names, until its steps are used up or depth is 0. The rest of
// the value then keeps its aliases.
type unaliaser struct {
	*repair
	names map[string]string // by alias
}

// value replaces the aliases in v whose names one of the subschemas that apply to v mentions.
func (u *unaliaser) value(schemas []any, v any, depth int) any {
	if u.left <= 0 || depth < 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		return u.object(u.withApplied(schemas, depth), v, depth)
	case []any:
		all := u.withApplied(schemas, depth)
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = u.value(u.itemSchemas(all, i), item, depth-1)
		}
		return out
	}
	return v
}

// object replaces the aliases of an object's members. An alias stays if the object has the name, too.
func (u *unaliaser) object(schemas []map[string]any, v map[string]any, depth int) map[string]any {
	mentioned := u.mentionedNames(schemas)
	patterns := make([][]string, len(schemas))
	for i, s := range schemas {
		patterns[i] = u.namePatterns(s)
	}
	out := make(map[string]any, len(v))
	for name, member := range v {
		if original, ok := u.names[name]; ok && mentioned[original] {
			if _, both := v[original]; !both {
				name = original
			}
		}
		out[name] = u.value(u.memberSchemas(schemas, patterns, name), member, depth-1)
	}
	return out
}

// mentionedNames returns the names in subschemas, as long as the steps last.
func (u *unaliaser) mentionedNames(schemas []map[string]any) map[string]bool {
	out := map[string]bool{}
	for _, s := range schemas {
		if u.doc.Left == 0 {
			break
		}
		rewrite.EachName(s, func(name string) {
			if u.doc.Spend(1) {
				out[name] = true
			}
		})
	}
	return out
}

// withApplied returns subschemas of a value, and the subschemas that they apply to it: targets of
// references, parts, alternatives and conditions.
func (u *unaliaser) withApplied(schemas []any, depth int) []map[string]any {
	var out []map[string]any
	seen := map[uintptr]bool{}
	var add func(s any, depth int)
	add = func(s any, depth int) {
		sub, ok := s.(map[string]any)
		if u.left--; u.left < 0 || depth == 0 || !ok || seen[tree.Address(sub)] {
			return
		}
		seen[tree.Address(sub)] = true
		if !u.spendReading(sub) {
			return
		}
		out = append(out, sub)
		add(u.target(sub), depth-1)
		for place, part := range tree.Each(sub) {
			if place.Kind == tree.InPlace {
				add(part, depth-1)
			}
		}
	}
	for _, s := range schemas {
		add(s, depth)
	}
	return out
}

// memberSchemas returns the subschemas of a member of an object, as long as the steps last. patterns
// are the patterns of names of each of the subschemas.
func (u *unaliaser) memberSchemas(schemas []map[string]any, patterns [][]string, name string) []any {
	var out []any
	for i, s := range schemas {
		if !u.doc.Spend(1) {
			break
		}
		out = append(out, u.rulesFor(s, patterns[i], name)...)
		if rest, ok := s["unevaluatedProperties"]; ok {
			out = append(out, rest)
		}
	}
	return out
}

// itemSchemas returns the subschemas of an item of a list, as long as the steps last.
func (u *unaliaser) itemSchemas(schemas []map[string]any, i int) []any {
	var out []any
	for _, s := range schemas {
		if !u.doc.Spend(1) {
			break
		}
		for _, item := range []any{itemSchema(s, i), s["contains"], s["unevaluatedItems"]} {
			if item != nil {
				out = append(out, item)
			}
		}
	}
	return out
}
