package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// standard writes JSON Schema 2020-12 with a root that OpenAI and Anthropic
// take.
func (w *writer) standard() map[string]any {
	out := w.flatten(object(w.modern(w.doc.Root, "")))
	m := mender{writer: w, out: &Document{Root: out, Left: maxSteps}, moved: map[string]string{}}
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

// modern writes a subschema and all below it in the words of 2020-12. What is
// written beside the document itself, as references can demand over and over, is
// bounded: beyond that, nothing is said.
func (w *writer) modern(v any, at string) any {
	m := modernizer{writer: w, free: same(v, w.doc.Root), early: early(w.doc.Root)}
	out := m.schema(v, at)
	w.places.put(out, place{key: at})
	return out
}

// same reports whether two values are one object.
func same(a any, b map[string]any) bool {
	s, ok := a.(map[string]any)
	return ok && address(s) == address(b)
}

type modernizer struct {
	*writer
	early   bool // it is of a draft in which a reference stands alone
	free    bool // it is the document, whose size is that of the original
	foreign bool // it is inside of another document
}

func (m modernizer) schema(v any, at string) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if !m.free {
		if m.left--; m.left < 0 {
			return m.tooMuch(at)
		}
	}
	m.foreign = m.foreign || m.doc.movesBase(s)
	out := maps.Clone(s)
	m.declared(out, at)
	m.references(out)
	if values, ok := out["enum"].([]any); ok && len(values) == 0 {
		delete(out, "enum")
		out["not"] = map[string]any{}
		m.note(at, "enum", Same, "an enumeration of nothing is written as not")
	}
	m.tuple(out, at)
	m.bounds(out, at)
	m.dependencies(out, at)
	for _, key := range []string{"required", "properties"} {
		if v, ok := out[key]; ok && v == nil {
			delete(out, key)
			m.note(at, key, Same, "null was removed")
		}
	}
	m.below(out, s, at)
	if _, ok := out["items"]; !ok && (m.target == OpenAI || m.target == OpenAIStrict) && slices.Contains(types(out), "array") {
		out = m.anyItems(out, at)
	}
	m.plainNames(out, at)
	return out
}

// early reports whether a schema declares a draft up to draft-07, which says of a
// $ref: "All other properties in a "$ref" object MUST be ignored".
func early(s map[string]any) bool { return strings.Contains(text(s["$schema"]), "/draft-0") }

// besideReference are keywords that demand nothing of a value, and what
// references lead to.
var besideReference = slices.Concat(remarks, []string{"$ref", "definitions", "$defs"})

// declared takes the draft that a subschema declares, since what is written is of
// one dialect, and leaves out what that draft ignores beside a reference.
func (m *modernizer) declared(out map[string]any, at string) {
	if _, ok := out["$schema"]; ok && at != "" {
		m.early, m.silent = early(out), true
		delete(out, "$schema")
	}
	if _, ok := out["$ref"].(string); !ok || !m.early {
		return
	}
	for _, key := range keys(out) {
		if !slices.Contains(besideReference, key) && !strings.HasPrefix(key, "x-") {
			delete(out, key)
			m.note(at, key, Same, "left out, because its draft ignores it beside $ref")
		}
	}
}

// tooMuch is what is written where there is no room for more.
func (m modernizer) tooMuch(at string) any {
	if m.replaces() {
		return map[string]any{"$ref": elsewhere}
	}
	m.note(at, "", Wider, "left to validation: there are too many subschemas")
	return map[string]any{}
}

// replaces reports whether the target has no references.
func (w *writer) replaces() bool { return w.target == Gemini || w.target == GoogleAI }

// references makes those unresolvable, where references are replaced, that lead
// elsewhere than their text alone tells.
func (m modernizer) references(out map[string]any) {
	if !m.replaces() {
		return
	}
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := out[key]; ok {
			delete(out, key)
			out["$ref"] = elsewhere
		}
	}
	if _, ok := out["$ref"]; ok && m.foreign {
		out["$ref"] = elsewhere
	}
}

// below rewrites what the keywords of a subschema, which was s, hold.
func (m modernizer) below(out, s map[string]any, at string) {
	for _, key := range holdsSchema {
		if sub, ok := out[key]; ok {
			was := formerly(key, s)
			out[key] = m.schema(sub, join(at, was))
			m.places.put(out[key], place{in: out, key: was})
		}
	}
	for _, key := range holdsList {
		if subs := list(out[key]); subs != nil {
			changed := make([]any, len(subs))
			was := formerly(key, s)
			for i, sub := range subs {
				path := join(at, was, strconv.Itoa(i))
				changed[i] = m.schema(m.plainBool(sub, path), path)
				m.places.put(changed[i], place{in: out, key: was, name: strconv.Itoa(i), many: true})
			}
			out[key] = changed
		}
	}
	for _, key := range holdsMap {
		if subs := object(out[key]); subs != nil {
			changed := make(map[string]any, len(subs))
			was := formerly(key, s)
			for _, name := range keys(subs) {
				path := join(at, was, name)
				changed[name] = m.schema(m.plainBool(subs[name], path), path)
				m.places.put(changed[name], place{in: out, key: was, name: name, many: true})
			}
			out[key] = changed
		}
	}
}

// formerly is what a keyword that s has in the words of 2020-12 was in its own.
func formerly(key string, s map[string]any) string {
	tuple := list(s["items"]) != nil
	switch {
	case key == "prefixItems" && tuple:
		return "items"
	case key == "items" && tuple:
		return "additionalItems"
	case key == "dependentSchemas" && s[key] == nil:
		return "dependencies"
	}
	return key
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
