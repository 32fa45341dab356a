package rewrite

import (
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// object writes the described and the required properties of an object. It returns false if no object that is allowed can
// be written with them, or if the budget is used up.
func (g *gemini) object(out, s map[string]any, at string, via []hop) bool {
	required := tree.Strings(s["required"])
	isRequired := tree.SetOf(tree.Anys(required)...)
	properties := map[string]any{}
	omitted := false // an optional property that some value fits
	described := append(tree.Keys(tree.Object(s["properties"])), required...)
	slices.Sort(described)
	const stepsPerName = 4 // to sort and to look it up
	if !g.work(stepsPerName*len(described)) && at != "" {
		return false
	}
	for _, name := range slices.Compact(described) {
		if g.isExhausted() && (at != "" || g.levels > 0) {
			return false // the caller writes JSON text, or tries fewer levels
		}
		property, path := g.property(s, name, at)
		written := g.schema(property, path, via)
		switch {
		case written != nil:
			properties[name] = written
		case !isRequired.Has(name):
			omitted = omitted || !tree.Never(property)
		case at == "" && g.levels == 0: // there must be a root
			properties[name] = g.asText(path, "the value", nil)
		default:
			return false
		}
	}
	if len(properties) == 0 {
		return !omitted || at == ""
	}
	g.reportOtherProperties(s, at)
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = tree.Anys(required)
	}
	return true
}

// reportOtherProperties reports that an object is written without the rules for properties that it does not describe.
func (g *gemini) reportOtherProperties(s map[string]any, at string) {
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
}

// property returns the subschema of a property of s, and its path. A property without one of its own has that of further
// properties. Any value is allowed if there is none either, or if a pattern may describe the property.
func (g *gemini) property(s map[string]any, name, at string) (property any, path string) {
	path = tree.Join(at, "properties", name)
	if property, described := tree.Object(s["properties"])[name]; described {
		return property, path
	}
	rest, key := tree.Rest(s)
	if key == "" || s["patternProperties"] != nil || rest != false && len(tree.Object(rest)) == 0 {
		g.write(len(name))
		return true, path
	}
	return rest, tree.Join(at, key)
}

// entries writes an object without described properties as a list of entries, which package
// toolschema turns into an object again. An object that must be empty, or has several rules for names, is JSON text. It
// returns nil if no name or no value can be written.
func (g *gemini) entries(s map[string]any, at string, via []hop) map[string]any {
	patterns := tree.Object(s["patternProperties"])
	rest, _ := tree.Rest(s)
	isEmpty := len(tree.Object(s["properties"])) > 0 || rest == false && len(patterns) == 0 // of the properties, none may be given
	severalRules := len(patterns) > 1 || len(patterns) > 0 && tree.Object(s["propertyNames"]) != nil
	switch least, _ := decodeLimit(s["minProperties"]); {
	case isEmpty && least > 0:
		g.record(at, "minProperties", profile.Same, "left out, because it allows no value")
		return nil
	case isEmpty, severalRules:
		return g.asText(at, "the object", s)
	}
	items := g.entry(s, at, via)
	if items == nil {
		return nil
	}
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

// entry writes an entry of the list that stands for an object. It returns nil if no name or no value can be written.
func (g *gemini) entry(s map[string]any, at string, via []hop) map[string]any {
	name, value, path := g.entryRules(s, at)
	properties := map[string]any{}
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
	out := map[string]any{"type": "object", "properties": properties, "required": required}
	g.entryItems[tree.Address(out)] = out
	return out
}

// entryRules returns the subschemas of the names and of the values of an object with at most one pattern, and the path of
// the latter.
func (g *gemini) entryRules(s map[string]any, at string) (name, value any, path string) {
	value, key := tree.Rest(s)
	name, path = map[string]any{"type": "string"}, tree.Join(at, key)
	for pattern, member := range tree.Object(s["patternProperties"]) { // the only one
		if value != false {
			g.record(at, "additionalProperties", profile.Narrower, "only names that fit the pattern are offered")
		}
		name, value, path = map[string]any{"type": "string", "pattern": pattern}, member, tree.Join(at, "patternProperties", pattern)
	}
	if rule, ok := s["propertyNames"]; ok {
		name = allOf(name, rule)
	}
	return name, value, path
}

// anyValue returns the properties of an entry that allows any value.
func (g *gemini) anyValue() map[string]any {
	value := map[string]any{"type": "string"}
	description := "The value as JSON, instead of value, if it is a list or an object."
	if g.googleAI {
		description = "The value as JSON, instead of value, if it is not a string."
	} else {
		value = g.orNull(map[string]any{"anyOf": scalarForms()}, true)
	}
	return map[string]any{EntryValue: value, EntryJSON: map[string]any{"type": "string", "description": description}}
}

// withoutEntries removes the alternatives that are lists of entries. They stand for objects, and could not be distinguished
// from other lists.
func (f *forms) withoutEntries(written map[string]any, at string) map[string]any {
	if written == nil {
		return nil
	}
	all := flattenAnyOf([]any{written})
	kept := slices.DeleteFunc(slices.Clone(all), f.isEntries)
	if len(kept) == len(all) {
		return written
	}
	f.record(at, "type", profile.Narrower, "objects are not offered beside lists")
	return anyOf(kept)
}

// The properties of an entry, which stands for a property of an object: its name, its value, or the value as JSON text.
const (
	EntryName  = "key"
	EntryValue = "value"
	EntryJSON  = "json"
)

// isEntries reports whether a written subschema is a list of entries. A server's own list may have the same properties.
func (f *forms) isEntries(form any) bool {
	items := tree.Object(tree.Object(form)["items"])
	return items != nil && f.entryItems[tree.Address(items)] != nil
}
