package rewrite

import (
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// object writes the properties of an object. It returns false if no object that is allowed can be
// written.
func (g *gemini) object(out, s map[string]any, at string, via []hop) bool {
	required := tree.Strings(s["required"])
	demanded := tree.SetOf(tree.Anys(required)...)
	properties := map[string]any{}
	cut := false
	described := append(tree.Keys(tree.Object(s["properties"])), required...)
	slices.Sort(described)
	if !g.work(4*len(described)) && at != "" {
		return false
	}
	for _, name := range slices.Compact(described) {
		if g.isExhausted() && (at != "" || g.levels > 0) {
			return false // the caller writes JSON text, or tries fewer levels
		}
		says, path := g.property(s, name, at)
		written := g.schema(says, path, via)
		switch {
		case written != nil:
			properties[name] = written
		case !demanded.Has(name):
			cut = cut || !tree.Never(says)
		case at == "" && g.levels == 0: // there must be a root
			properties[name] = g.asText(path, "the value", nil)
		default:
			return false
		}
	}
	if len(properties) == 0 {
		return !cut || at == ""
	}
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if rest, ok := s[key]; ok && rest != false {
			g.record(at, key, profile.Narrower, "only the properties that are described are offered")
		}
	}
	for _, key := range []string{"patternProperties", "propertyNames"} {
		if _, ok := s[key]; ok {
			g.record(at, key, profile.Wider, "left to validation, beside properties that are described")
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = tree.Anys(required)
	}
	return true
}

// property returns the subschema of a property of s, and its path. A required property that only a pattern may describe
// has any value.
func (g *gemini) property(s map[string]any, name, at string) (says any, path string) {
	path = tree.Join(at, "properties", name)
	if says, described := tree.Object(s["properties"])[name]; described {
		return says, path
	}
	rest, key := tree.Rest(s)
	if key == "" || s["patternProperties"] != nil || rest != false && len(tree.Object(rest)) == 0 {
		g.write(len(name))
		return true, path
	}
	return rest, tree.Join(at, key)
}

// entries writes an object without described properties as a list of entries, which package
// toolschema turns into an object again.
func (g *gemini) entries(s map[string]any, at string, via []hop) map[string]any {
	value, key := tree.Rest(s)
	patterns := tree.Object(s["patternProperties"])
	switch {
	case len(tree.Object(s["properties"])) > 0, value == false && len(patterns) == 0: // none may be given
		return g.empty(s, at)
	case len(patterns) > 1, len(patterns) > 0 && tree.Object(s["propertyNames"]) != nil:
		return g.asText(at, "the object", s)
	}
	path := tree.Join(at, key)
	name := any(map[string]any{"type": "string"})
	for pattern, says := range patterns { // the only one
		if value != false {
			g.record(at, "additionalProperties", profile.Narrower, "only names that fit the pattern are offered")
		}
		name, value, path = map[string]any{"type": "string", "pattern": pattern}, says, tree.Join(at, "patternProperties", pattern)
	}
	if says, ok := s["propertyNames"]; ok {
		name = allOf(name, says)
	}
	properties := map[string]any{EntryName: nil}
	required := []any{EntryName}
	if value == nil || value == true || len(tree.Object(value)) == 0 {
		maps.Copy(properties, g.anyValue())
	} else if written := g.schema(value, path, via); written != nil {
		properties[EntryValue], required = written, append(required, EntryValue)
	} else {
		return nil
	}
	written := g.schema(name, tree.Join(at, "propertyNames"), via)
	if written == nil {
		return nil
	}
	properties[EntryName] = written
	items := map[string]any{"type": "object", "properties": properties, "required": required}
	g.entryItems[tree.Address(items)] = items
	out := map[string]any{"type": "array", "items": items}
	tree.CopyKeys(out, s, "title", "description")
	describe(out, "A list of names and values.")
	for from, to := range map[string]string{"minProperties": "minItems", "maxProperties": "maxItems"} {
		if limit, ok := s[from]; ok {
			out[to] = limit
		}
	}
	if least, _ := decodeLimit(s["minProperties"]); least > 1 {
		g.record(at, "minProperties", profile.Wider, "left to validation, because a name may occur twice")
	}
	g.record(at, "", profile.Same, "the object is asked for as a list of names and values")
	return out
}

// anyValue returns the properties of an entry that allows any value.
func (g *gemini) anyValue() map[string]any {
	value := map[string]any{"type": "string"}
	about := "The value as JSON, instead of value, if it is a list or an object."
	if g.googleAI {
		about = "The value as JSON, instead of value, if it is not a string."
	} else {
		value = orNull(map[string]any{"anyOf": scalarForms()}, false)
	}
	return map[string]any{EntryValue: value, EntryJSON: map[string]any{"type": "string", "description": about}}
}

// empty writes an object that must not have properties.
func (g *gemini) empty(s map[string]any, at string) map[string]any {
	if least, _ := decodeLimit(s["minProperties"]); least > 0 {
		g.record(at, "minProperties", profile.Same, "left out, because it allows no value")
		return nil
	}
	if g.googleAI {
		return g.asText(at, "the object", s)
	}
	effect := profile.Same
	if others, _ := tree.Rest(s); others != false {
		effect = profile.Narrower
	}
	out := map[string]any{"type": "string", "format": "enum", "enum": []any{"{}"}}
	tree.CopyKeys(out, s, "title", "description")
	g.record(at, "", effect, "the empty object is asked for as JSON text")
	return out
}
