package rewrite

import (
	"maps"
	"slices"
	"strconv"
)

// standard writes JSON Schema 2020-12 with a root that OpenAI and Anthropic
// take.
func (w *writer) standard() map[string]any {
	out := w.flatten(object(w.modern(w.root, "")))
	m := mender{writer: w, out: &writer{root: out}, moved: map[string]string{}}
	m.mend(out)
	if len(w.changes) > 0 {
		delete(out, "$schema")
	}
	return out
}

// The keywords that hold subschemas, by shape.
var (
	holdsSchema = []string{
		"not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contains",
		"additionalProperties", "unevaluatedProperties", "propertyNames",
	}
	holdsList = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	holdsMap  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// modern writes a subschema and all below it in the words of 2020-12.
func (w *writer) modern(v any, at string) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if w.left--; w.left < 0 {
		return map[string]any{}
	}
	out := maps.Clone(s)
	w.tuple(out, at)
	w.bounds(out, at)
	for _, key := range []string{"required", "properties"} {
		if v, ok := out[key]; ok && v == nil {
			delete(out, key)
			w.note(at, key, Same, "null was removed")
		}
	}
	if _, ok := out["items"]; !ok && w.target != Anthropic && slices.Contains(types(out), "array") {
		out["items"] = map[string]any{}
		w.note(at, "items", Same, "items of any kind are spelled out")
	}
	w.below(out, at)
	w.plainNames(out, at)
	return out
}

// below rewrites what the keywords of a subschema hold.
func (w *writer) below(out map[string]any, at string) {
	for _, key := range holdsSchema {
		if sub, ok := out[key]; ok {
			out[key] = w.modern(sub, join(at, key))
		}
	}
	for _, key := range holdsList {
		if subs := list(out[key]); subs != nil {
			changed := make([]any, len(subs))
			for i, sub := range subs {
				changed[i] = w.modern(w.plainBool(sub, join(at, key, strconv.Itoa(i))), join(at, key, strconv.Itoa(i)))
			}
			out[key] = changed
		}
	}
	for _, key := range holdsMap {
		if subs := object(out[key]); subs != nil {
			changed := make(map[string]any, len(subs))
			for _, name := range keys(subs) {
				path := join(at, key, name)
				changed[name] = w.modern(w.plainBool(subs[name], path), path)
			}
			out[key] = changed
		}
	}
}

// plainBool writes a schema that is a boolean as an object.
func (w *writer) plainBool(v any, at string) any {
	allowed, ok := v.(bool)
	if !ok {
		return v
	}
	w.note(at, "", Same, "the schema "+strconv.FormatBool(allowed)+" is written as an object")
	if allowed {
		return map[string]any{}
	}
	return map[string]any{"not": map[string]any{}}
}

// tuple writes the array form of items, up to 2019-09, as prefixItems.
func (w *writer) tuple(out map[string]any, at string) {
	tuple, ok := out["items"].([]any)
	if !ok {
		return
	}
	w.note(at, "items", Same, "the list of items is written as prefixItems")
	out["prefixItems"] = tuple
	delete(out, "items")
	if rest, ok := out["additionalItems"]; ok {
		out["items"] = rest
	} else if w.target != Anthropic {
		out["items"] = map[string]any{}
	}
	delete(out, "additionalItems")
}

// bounds writes the booleans of draft-04 as the numbers that followed them.
func (w *writer) bounds(out map[string]any, at string) {
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		on, ok := out[exclusive].(bool)
		if !ok {
			continue
		}
		delete(out, exclusive)
		if limit, ok := out[inclusive]; ok && on {
			out[exclusive] = limit
			delete(out, inclusive)
		}
		w.note(at, exclusive, Same, "the boolean is written as a number")
	}
}

// plainNames gives properties names that Anthropic takes.
func (w *writer) plainNames(out map[string]any, at string) {
	if w.target != Anthropic {
		return
	}
	properties := object(out["properties"])
	aliases := Aliases(properties)
	if len(aliases) == 0 {
		return
	}
	renamed := maps.Clone(properties)
	required := names(out["required"])
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		name := aliases[alias]
		renamed[alias] = renamed[name]
		delete(renamed, name)
		if i := slices.Index(required, name); i >= 0 {
			required[i] = alias
		}
		w.note(join(at, "properties", name), "", Same, "the property is called "+strconv.Quote(alias))
	}
	out["properties"] = renamed
	if len(required) > 0 {
		out["required"] = anys(required)
	}
}
