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
	before := len(w.changes)
	out := f.part(root, "")
	w.lossy = slices.ContainsFunc(w.changes[before:], func(c Change) bool { return c.Effect == Wider })
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
	others, closing := out["unevaluatedProperties"] // sees the properties of all parts
	delete(out, "unevaluatedProperties")
	if ref, ok := out["$ref"].(string); ok {
		delete(out, "$ref")
		target, found := f.resolve(ref)
		if object(target) != nil && found && !f.followed[ref] {
			f.followed[ref] = true
			// What is resolved is the original: it is written anew like the rest.
			f.note(at, "$ref", Same, "the reference is replaced by what it refers to")
			out = f.both(f.part(object(f.modern(target, at)), at), out, at)
			copyKeys(out, s, "title", "description")
		} else {
			f.note(at, "$ref", Same, "a reference that says nothing new was removed from the root")
		}
	}
	if parts := list(out["allOf"]); parts != nil {
		delete(out, "allOf")
		for i, p := range parts {
			path := join(at, "allOf", strconv.Itoa(i))
			out = f.both(out, f.part(object(p), path), path)
		}
		f.note(at, "allOf", Same, "the parts are merged into the root")
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := list(out[key])
		if branches == nil {
			continue
		}
		delete(out, key)
		if i, ok := f.only(branches); ok {
			path := join(at, key, strconv.Itoa(i))
			out = f.both(out, f.part(object(branches[i]), path), path)
			f.note(at, key, Same, "the only alternative is merged into the root")
		} else {
			out = f.either(out, branches, at, key)
		}
	}
	if closing {
		out["unevaluatedProperties"] = others
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

// only is the index of the one alternative that an object can fit.
func (f *flattener) only(branches []any) (index int, ok bool) {
	count := 0
	for i, b := range branches {
		if names := types(f.plain(b)); len(names) == 0 || slices.Contains(names, "object") {
			index = i
			count++
		}
	}
	return index, count == 1
}

// both merges two subschemas that hold together, the second of which stands at.
func (f *flattener) both(a, b map[string]any, at string) map[string]any {
	out, lost := conjoin(a, b)
	for _, key := range lost {
		f.note(at, key, Wider, "cannot be merged into the root")
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
	others, _ := rest(base)
	for name, said := range found {
		if _, ok := properties[name]; ok || others == false {
			continue // the base says what it is
		}
		properties[name] = said[0]
		if len(said) > 1 {
			properties[name] = map[string]any{"anyOf": said}
		}
		if object(others) != nil {
			properties[name] = allOf(others, properties[name])
		}
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
