package rewrite

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxRootParts bounds the subschemas that are merged into a root.
const maxRootParts = 200

// flatten makes an object without alternatives of a root.
func (w *writer) flatten(root map[string]any) map[string]any {
	f := flattener{writer: w, left: maxRootParts, followed: map[string]bool{}}
	out := f.part(root, "")
	out["type"] = "object"
	if names := types(root); len(names) > 1 {
		w.note("", "type", Same, "arguments are an object always")
	}
	if object(out["properties"]) == nil {
		out["properties"] = map[string]any{}
	}
	return out
}

type flattener struct {
	*writer
	left     int
	followed map[string]bool // references
}

// part merges into a subschema what its $ref, allOf, anyOf and oneOf say about
// an object.
func (f *flattener) part(s map[string]any, at string) map[string]any {
	out := maps.Clone(s)
	if f.left--; f.left < 0 {
		for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
			delete(out, key)
		}
		f.note(at, "", Wider, "too many parts to be merged into the root")
		return out
	}
	if ref, ok := out["$ref"].(string); ok {
		delete(out, "$ref")
		target, found := f.resolve(ref)
		if object(target) != nil && found && !f.followed[ref] {
			f.followed[ref] = true
			// What is resolved is the original: it is written anew like the rest.
			f.note(at, "$ref", Same, "the reference is replaced by what it refers to")
			out = f.both(f.part(object(f.modern(target, at)), at), out, at)
		} else {
			f.note(at, "$ref", Wider, "a reference that leads back was removed from the root")
		}
	}
	if parts := list(out["allOf"]); parts != nil {
		delete(out, "allOf")
		for i, p := range parts {
			out = f.both(out, f.part(object(p), join(at, "allOf", strconv.Itoa(i))), at)
		}
		f.note(at, "allOf", Same, "the parts are merged into the root")
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := list(out[key]); branches != nil {
			delete(out, key)
			out = f.either(out, branches, at, key)
		}
	}
	if f.target != Anthropic {
		for _, key := range []string{"not", "enum", "const"} {
			if _, ok := out[key]; ok {
				delete(out, key)
				f.note(at, key, Wider, "not allowed at the root")
			}
		}
	}
	return out
}

// both merges two subschemas that hold together.
func (f *flattener) both(a, b map[string]any, at string) map[string]any {
	out := maps.Clone(a)
	for _, key := range keys(b) {
		switch value := b[key]; key {
		case "properties":
			merged := maps.Clone(object(out[key]))
			if merged == nil {
				merged = map[string]any{}
			}
			for name, p := range object(value) {
				if old, ok := merged[name]; ok && !reflect.DeepEqual(old, p) {
					p = map[string]any{"allOf": []any{old, p}}
				}
				merged[name] = p
			}
			out[key] = merged
		case "required":
			all := names(out[key])
			for _, name := range names(value) {
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
			out[key] = anys(all)
		case "$defs", "definitions":
			merged := maps.Clone(object(value))
			maps.Copy(merged, object(out[key]))
			out[key] = merged
		case "additionalProperties", "unevaluatedProperties":
			// Of a part it speaks of that part's properties only.
			if len(object(out["properties"])) == 0 && len(out) == 0 {
				out[key] = value
			} else {
				f.note(at, key, Wider, "cannot be merged into the root")
			}
		default:
			if _, ok := out[key]; !ok {
				out[key] = value
			}
		}
	}
	if _, closed := a["additionalProperties"]; closed && len(object(b["properties"])) > 0 {
		delete(out, "additionalProperties")
		f.note(at, "additionalProperties", Wider, "cannot be merged into the root")
	}
	return out
}

// either merges alternatives into the subschema that has them: all properties
// may be given, and required is what all alternatives require.
func (f *flattener) either(base map[string]any, branches []any, at, key string) map[string]any {
	out := maps.Clone(base)
	properties := maps.Clone(object(base["properties"]))
	if properties == nil {
		properties = map[string]any{}
	}
	found := map[string][]any{} // by property, what the branches say of it
	var common []string
	var sets []string
	for i, b := range branches {
		branch := f.part(object(b), join(at, key, strconv.Itoa(i)))
		for name, p := range object(branch["properties"]) {
			if !slices.ContainsFunc(found[name], func(old any) bool { return reflect.DeepEqual(old, p) }) {
				found[name] = append(found[name], p)
			}
		}
		required := names(branch["required"])
		if i == 0 {
			common = required
		}
		common = slices.DeleteFunc(slices.Clone(common), func(name string) bool { return !slices.Contains(required, name) })
		if len(required) > 0 {
			sets = append(sets, strings.Join(required, " and "))
		}
	}
	for name, said := range found {
		if _, ok := properties[name]; ok {
			continue // the base says what it is
		}
		properties[name] = said[0]
		if len(said) > 1 {
			properties[name] = map[string]any{"anyOf": said}
		}
	}
	if len(properties) > len(object(base["properties"])) {
		delete(out, "additionalProperties")
	}
	out["properties"] = properties
	required := names(base["required"])
	for _, name := range common {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		out["required"] = anys(required)
	}
	if len(sets) > 1 {
		describe(out, "Give one of these: "+strings.Join(sets, "; or ")+".")
	}
	f.note(at, key, Wider, "the alternatives are merged into one object")
	return out
}

// maxDescription bounds what is added to a description.
const maxDescription = 1000

// describe adds a sentence to a description.
func describe(s map[string]any, sentence string) {
	if len(sentence) > maxDescription {
		sentence = strings.ToValidUTF8(sentence[:maxDescription], "") + "…"
	}
	if old := text(s["description"]); old != "" {
		sentence = old + "\n" + sentence
	}
	s["description"] = sentence
}
