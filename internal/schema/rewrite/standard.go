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
	w.dependencies(out, at)
	for _, key := range []string{"required", "properties"} {
		if v, ok := out[key]; ok && v == nil {
			delete(out, key)
			w.note(at, key, Same, "null was removed")
		}
	}
	w.below(out, at)
	if _, ok := out["items"]; !ok && (w.target == OpenAI || w.target == OpenAIStrict) && slices.Contains(types(out), "array") {
		out = w.anyItems(out, at)
	}
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
	}
	delete(out, "additionalItems")
}

// applies are the keywords that evaluate items, beside those of an array's own.
var applies = []string{"$ref", "allOf", "anyOf", "oneOf", "if", "contains", "dependentSchemas", "$dynamicRef"}

// anyItems spells out the items of a list that says nothing of them. What it says
// of unevaluated ones must not see that.
func (w *writer) anyItems(s map[string]any, at string) map[string]any {
	says, ok := s["unevaluatedItems"]
	switch {
	case !ok:
		s["items"] = map[string]any{}
		w.note(at, "items", Same, "items of any kind are spelled out")
	case !slices.ContainsFunc(applies, func(key string) bool { return s[key] != nil }):
		s["items"] = says
		delete(s, "unevaluatedItems")
		w.note(at, "unevaluatedItems", Same, "written as items")
	default:
		outer := map[string]any{"items": map[string]any{}, "allOf": []any{s}}
		for _, key := range []string{"type", "title", "description"} {
			copyKeys(outer, s, key)
			delete(s, key)
		}
		w.note(at, "items", Same, "items of any kind are spelled out")
		return outer
	}
	return s
}

// dependencies writes the one keyword, up to draft-07, as the two that followed it.
func (w *writer) dependencies(out map[string]any, at string) {
	all, ok := out["dependencies"].(map[string]any)
	if !ok {
		return
	}
	delete(out, "dependencies")
	split := map[string]map[string]any{"dependentRequired": {}, "dependentSchemas": {}}
	for name, says := range all {
		key := "dependentSchemas"
		if _, ok := says.([]any); ok {
			key = "dependentRequired"
		}
		split[key][name] = says
	}
	for key, says := range split {
		if merged, ok := together(key, out[key], says); ok && len(says) > 0 {
			out[key] = merged
		}
	}
	w.note(at, "dependencies", Same, "written as dependentRequired and dependentSchemas")
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
