package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxRootParts bounds the subschemas that are merged into a root.
const maxRootParts = 200

// flatten makes an object without alternatives of a root, that of the document in
// the words of 2020-12.
func (w *writer) flatten(root map[string]any) map[string]any {
	f := flattener{writer: w, document: &Document{Root: root, Left: maxSteps}, left: maxRootParts, followed: map[string]bool{}}
	before := len(w.changes)
	out := f.part(root, "")
	if len(f.followed) > 0 && !w.replaces() && size(out, maxNodes) > maxNodes && size(root, maxNodes) <= maxNodes {
		f.note("", "$ref", Wider, "what it refers to is too large to be there twice")
	}
	w.lossy = slices.ContainsFunc(w.changes[before:], func(c Change) bool { return c.Effect == Wider })
	out["type"] = "object"
	if names := types(root); len(names) > 1 {
		effect := Same
		if !w.replaces() && RefersToRoot(w.doc.Root) {
			effect = Narrower
		}
		w.note("", "type", effect, "arguments are an object always")
	}
	if object(out["properties"]) == nil {
		out["properties"] = map[string]any{}
	}
	return out
}

// size counts the subschemas of one, not many more than limit.
func size(v any, limit int) int {
	n := 0
	var count func(v any)
	count = func(v any) {
		if v == nil || n > limit {
			return
		}
		n++
		eachBelow(object(v), count)
	}
	count(v)
	return n
}

type flattener struct {
	*writer
	document *Document // that the root is made of
	left     int
	followed map[string]bool // references
	choices  int             // the sets of alternatives that were merged
}

// part merges into a subschema what its $ref, allOf, anyOf and oneOf say about
// an object.
func (f *flattener) part(s map[string]any, at string) map[string]any {
	out := maps.Clone(s)
	if out == nil {
		out = map[string]any{}
	}
	if f.left--; f.left < 0 {
		for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
			delete(out, key)
		}
		f.note(at, "", Wider, "too many parts to be merged into the root")
		return out
	}
	others, closing := out["unevaluatedProperties"] // sees the properties of all parts
	delete(out, "unevaluatedProperties")
	choices := f.choices
	if ref, ok := out["$ref"].(string); ok {
		delete(out, "$ref")
		out = f.reference(ref, out, at)
		copyKeys(out, s, "title", "description")
	}
	if parts := list(out["allOf"]); parts != nil {
		delete(out, "allOf")
		for i, p := range parts {
			out = f.with(out, p, join(at, "allOf", strconv.Itoa(i)), at)
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
			out = f.with(out, branches[i], join(at, key, strconv.Itoa(i)), at)
			f.note(at, key, Same, "the only alternative is merged into the root")
		} else {
			out = f.either(out, branches, at, key)
		}
	}
	if closing {
		out["unevaluatedProperties"] = others
		if f.choices > choices && limits(others) {
			f.note(at, "unevaluatedProperties", Wider, "the properties of all alternatives are described")
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

// reference merges what a reference refers to into what stands beside it.
func (f *flattener) reference(ref string, beside map[string]any, at string) map[string]any {
	if f.followed[ref] {
		f.note(at, "$ref", Same, "a reference that says nothing new was removed from the root")
		return beside
	}
	target, found := f.document.Resolve(ref)
	if !found {
		if target, found = f.doc.Resolve(ref); found {
			target = f.modern(target, at)
		}
	}
	switch {
	case !found:
		f.note(at, "$ref", Wider, "what it refers to is not known")
		return beside
	case target == true:
		f.note(at, "$ref", Same, "a reference to any value was removed from the root")
		return beside
	case object(target) == nil || f.named(target):
		f.note(at, "$ref", Wider, "what it refers to cannot be there twice")
		return beside
	}
	f.followed[ref] = true
	f.places.put(target, place{key: at})
	f.note(at, "$ref", Same, "the reference is replaced by what it refers to")
	return f.with(beside, target, at, at)
}

// named reports whether references other than pointers can lead to something
// below a subschema, so that it cannot be there twice.
func (f *flattener) named(v any) bool {
	if f.replaces() {
		return false
	}
	found := false
	var seek func(v any)
	seek = func(v any) {
		for _, key := range []string{"$id", "$anchor", "$dynamicAnchor"} {
			found = found || text(object(v)[key]) != ""
		}
		if !found {
			eachBelow(object(v), seek)
		}
	}
	eachBelow(object(v), seek)
	return found
}

// bases are keywords by which references in a subschema lead elsewhere than in
// the root.
func (f *flattener) bases(s map[string]any) bool {
	_, dynamic := s["$dynamicAnchor"]
	return f.document.movesBase(s) || dynamic || s["$recursiveAnchor"] == true
}

// with merges a part, which stands at, into a subschema, which stands elsewhere.
func (f *flattener) with(s map[string]any, part any, at, to string) map[string]any {
	switch {
	case part == nil || part == true:
		return s
	case object(part) == nil || f.bases(object(part)):
		f.note(at, "", Wider, "cannot be merged into the root")
		return s
	}
	merged := f.part(object(part), at)
	for _, key := range []string{"$anchor", "$id", "id"} {
		delete(merged, key)
	}
	if !f.writes.spend(4 * (breadth(s) + breadth(merged))) { // names are hashed and copied
		f.note(at, "", Wider, "too large to be merged into the root")
		return s
	}
	f.merge(merged, at, s, to)
	return f.both(s, merged, at)
}

// only is the index of the one alternative that an object can fit.
func (f *flattener) only(branches []any) (index int, ok bool) {
	count := 0
	for i, b := range branches {
		if names := types(f.doc.plain(b)); len(names) == 0 || slices.Contains(names, "object") {
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
	f.choices++
	out := maps.Clone(base)
	properties := maps.Clone(object(base["properties"]))
	if properties == nil {
		properties = map[string]any{}
	}
	found := map[string]*choices{} // by property, what the branches say of it
	demanding := map[string]int{}  // by property, the branches that require it
	var required []string          // by the first branch
	var sets []string
	followed := f.followed
	for i, b := range branches {
		f.followed = maps.Clone(followed) // one branch says nothing for another
		path := join(at, key, strconv.Itoa(i))
		branch := f.with(nil, b, path, path)
		for name, p := range object(branch["properties"]) {
			if found[name] == nil {
				found[name] = &choices{seen: set{}}
			}
			found[name].add(p)
		}
		all := names(union(list(branch["required"]), nil))
		for _, name := range all {
			demanding[name]++
		}
		if i == 0 {
			required = all
		}
		if len(all) > 0 {
			sets = append(sets, strings.Join(all, " and "))
		}
	}
	f.followed = followed
	others, _ := rest(base)
	for name, said := range found {
		if _, ok := properties[name]; ok || others == false {
			continue // the base says what it is
		}
		properties[name] = said.all[0]
		if len(said.all) > 1 {
			properties[name] = map[string]any{"anyOf": said.all}
		}
		if object(others) != nil {
			properties[name] = allOf(others, properties[name])
		}
	}
	out["properties"] = properties
	common := slices.DeleteFunc(required, func(name string) bool { return demanding[name] < len(branches) })
	if all := union(list(base["required"]), anys(common)); len(all) > 0 {
		out["required"] = all
	}
	if len(sets) > 1 {
		describe(out, "Give one of these: "+strings.Join(sets, "; or ")+".")
	}
	f.note(at, key, Wider, "the alternatives are merged into one object")
	return out
}

// choices lists different values.
type choices struct {
	all  []any
	seen set
}

func (c *choices) add(v any) {
	if c.seen.add(v) {
		c.all = append(c.all, v)
	}
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
