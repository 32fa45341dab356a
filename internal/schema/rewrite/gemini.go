package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Placeholder is the one property of functions without parameters: Gemini refuses
// objects that have none. Package toolschema takes it out of arguments.
const Placeholder = "no_parameters"

// maxGeminiDepth bounds how deeply schemas nest; below, values are JSON text.
const maxGeminiDepth = 32

// unrolled are the levels to which what refers to itself is written. The first level
// with at most maxUnrolled subschemas is taken. At none, it is JSON text.
var unrolled = []int{3, 2, 1, 0}

const maxUnrolled = 500

// writeGemini writes a root in Gemini's subset of OpenAPI.
func writeGemini(target Target, root map[string]any, r *report, room *Room) map[string]any {
	d := modern(target, root, r)
	in := maps.Clone(d.doc.Root) // references lead to the root as it was
	objectRoot(in, false, r)
	before := r.mark()
	var out map[string]any
	for _, levels := range unrolled {
		*r = before.mark()
		whole := room.budget()
		b := *whole
		if levels > 0 {
			b.nodes, b.steps = min(b.nodes, maxUnrolled), maxSteps/16
		}
		g := &gemini{forms{r, &b, target == GoogleAI}, d, levels}
		out = g.schema(in, "", nil)
		if out != nil && !b.over() || levels == 0 {
			room.take(*whole, b, r)
			break
		}
	}
	return geminiRoot(out, Wrapper(root), target, r)
}

// geminiRoot makes an object with properties of what was written of a root.
func geminiRoot(out map[string]any, name string, target Target, r *report) map[string]any {
	switch {
	case out == nil:
		r.note("", "", Wider, "left to validation, because no arguments fit")
		out = map[string]any{"type": "object"}
	case out["type"] != "object" && name != "":
		r.note("", "", Same, wrapNote(name))
		return wrapped(name, out)
	case out["properties"] != nil:
		return out
	}
	if _, ok := out["minProperties"]; ok {
		delete(out, "minProperties")
		r.note("", "minProperties", Wider, "left to validation, because no properties are described")
	}
	r.note("", "properties", Same, "a placeholder, because an object without properties is refused")
	placeholder := map[string]any{"type": "boolean", "description": "Leave it out: there are no parameters."}
	if target == Gemini {
		placeholder["nullable"] = true
	}
	out["properties"] = map[string]any{Placeholder: placeholder}
	return out
}

// gemini writes subschemas. It returns nil if no value fits one, or none that can be
// written. via are the references that led to a subschema.
type gemini struct {
	forms
	*document
	levels int // to which what refers to itself is written
}

// hop is a reference that was followed: from the place of its target to its own.
type hop struct{ ref, from, to string }

// place is where a subschema stands in the original, through references.
func (g *gemini) place(s map[string]any, otherwise string, via []hop) string {
	place, ok := g.places[tree.Address(s)]
	if !ok {
		return otherwise
	}
	for _, h := range slices.Backward(via) {
		if below, ok := strings.CutPrefix(place, h.from); ok && (below == "" || below[0] == '/') {
			return h.to + below
		}
	}
	return place
}

// schema writes one subschema.
func (g *gemini) schema(v any, at string, via []hop) map[string]any {
	s, ok := v.(map[string]any)
	if ok {
		at = g.place(s, at, via)
	}
	switch {
	case never(v):
		g.note(at, "", Same, "left out, because no value fits it")
		return nil
	case !ok:
		return g.anything(at, nil)
	case !g.node() && at != "", len(via) > maxGeminiDepth, strings.Count(at, "/") > 2*maxGeminiDepth:
		return g.asText(at, "the value", s)
	}
	whole, via, ok := g.whole(s, at, via)
	switch {
	case !ok:
		return g.asText(at, "the value", s)
	case never(whole):
		return nil
	case list(whole["anyOf"]) != nil:
		return g.union(whole, "anyOf", at, via)
	case list(whole["oneOf"]) != nil:
		return g.union(whole, "oneOf", at, via)
	case constants(whole) != nil:
		return g.enum(whole, at)
	}
	return g.kinds(whole, at, via)
}

// whole replaces references and merges allOf. What leads back to where it came from too
// often is nothing. It returns false for a reference without a target, and for what
// refers to itself if that is JSON text.
func (g *gemini) whole(s map[string]any, at string, via []hop) (map[string]any, []hop, bool) {
	for {
		parts := list(s["allOf"])
		ref, refers := s["$ref"].(string)
		switch {
		case refers:
			target, found := g.doc.Resolve(ref)
			times := len(slices.DeleteFunc(slices.Clone(via), func(h hop) bool { return h.ref != ref }))
			switch {
			case !found, g.levels == 0 && times > 0:
				return nil, via, false
			case g.levels > 0 && times >= g.levels:
				g.note(at, "$ref", Narrower, "left out: what refers to itself is written "+strconv.Itoa(g.levels)+" levels deep")
				return nothing, via, true
			}
			g.note(at, "$ref", Same, "the reference is replaced by what it refers to")
			via = append(slices.Clip(via), hop{ref, g.places[tree.Address(object(target))], at})
			s, parts = without(s, "$ref"), []any{target}
		case len(parts) > 0:
			g.note(at, "allOf", Same, "the parts are merged")
			s = without(s, "allOf")
		default:
			return s, via, true
		}
		seen := map[string]any{} // what sees the properties and items of all parts
		copyKeys(seen, s, "unevaluatedProperties", "unevaluatedItems")
		s = without(s, "unevaluatedProperties", "unevaluatedItems")
		for _, p := range parts {
			if never(p) {
				return nothing, via, true
			}
			part, inner, ok := object(p), via, true
			if !refers {
				part, inner, ok = g.whole(part, g.place(part, at, via), via)
			}
			if !ok || !g.work(breadth(s)+breadth(part)) {
				return nil, via, false
			}
			if via = inner; never(part) {
				return nothing, via, true
			}
			s = g.both(s, part, at)
		}
		maps.Copy(s, seen)
	}
}

// both merges two subschemas that hold together.
func (g *gemini) both(a, b map[string]any, at string) map[string]any {
	out, lost := merge(a, b)
	for _, key := range lost {
		if contradicts(key) {
			return nothing
		}
		g.note(at, key, Wider, "one of two demands is left to validation")
	}
	return out
}

// contradicts reports whether two values of a keyword leave no value.
func contradicts(key string) bool { return key == "const" || key == "enum" || key == "type" }

// alternative is one branch of a union, with what stands beside the union.
type alternative struct {
	s    map[string]any // nil if it is JSON text
	at   string
	from map[string]any
	via  []hop
}

// union writes alternatives, beside which nothing else may stand.
func (g *gemini) union(s map[string]any, key, at string, via []hop) map[string]any {
	all, nullable := g.alternatives(s, key, at, via)
	if nullable {
		g.note(at, key, Same, "null is written as nullable")
	}
	var written map[string]any
	if slices.ContainsFunc(all, func(a alternative) bool { return constants(a.s) == nil }) {
		if key == "oneOf" && len(all) > 1 {
			all = g.exclusive(all, at)
		}
		written = g.branches(all, key, at)
	} else if len(all) > 0 {
		written = g.enumerations(all, s, key, at)
	}
	if nullable {
		return orNull(written, g.googleAI)
	}
	return written
}

// alternatives lists the alternatives that some value fits, and reports whether null is
// another one.
func (g *gemini) alternatives(s map[string]any, key, at string, via []hop) (all []alternative, nullable bool) {
	base := without(s, key, "unevaluatedProperties", "unevaluatedItems")
	for i, b := range list(s[key]) {
		from := object(b)
		path := g.place(from, tree.Join(at, key, strconv.Itoa(i)), via)
		if kinds := types(from); len(kinds) == 1 && kinds[0] == "null" {
			kinds = types(s)
			nullable = nullable || len(kinds) == 0 || slices.Contains(kinds, "null")
			continue
		}
		part, inner, ok := g.whole(from, path, via)
		if !ok || !g.work(breadth(part)+breadth(base)) {
			all = append(all, alternative{nil, path, from, via})
			continue
		}
		merged, lost := merge(part, base)
		if never(b) || never(part) || slices.ContainsFunc(lost, contradicts) {
			continue
		}
		for _, key := range lost {
			g.note(at, key, Wider, "one of two demands is left to validation")
		}
		copyKeys(merged, s, "unevaluatedProperties", "unevaluatedItems")
		all = append(all, alternative{merged, path, from, inner})
	}
	return all, nullable
}

// exclusive makes alternatives of a oneOf such that a value fits one of them only, if
// that can be said.
func (g *gemini) exclusive(all []alternative, at string) []alternative {
	branches := make([]map[string]any, len(all))
	for i, a := range all {
		branches[i] = a.s
	}
	lacks, effect, ok := exclusive(g.doc, branches)
	if !ok {
		g.note(at, "oneOf", Wider, "written as anyOf")
		return all
	}
	what := "written as anyOf"
	for i, names := range lacks {
		if len(names) > 0 && g.work(len(names)+breadth(all[i].s)) {
			what = "written as anyOf of what fits one alternative only"
			all[i].s, _ = merge(all[i].s, lacking(names))
		}
	}
	g.note(at, "oneOf", effect, what)
	return all
}

// branches writes alternatives that do not all enumerate values.
func (g *gemini) branches(all []alternative, key, at string) map[string]any {
	texts := slices.ContainsFunc(all, func(a alternative) bool {
		kinds := types(a.s)
		return a.s != nil && constants(a.s) == nil && (len(kinds) == 0 || slices.Contains(kinds, "string"))
	})
	takers := 0 // of lists of names and values
	for _, a := range all {
		if g.takesEntries(a.s, maxApart) {
			takers++
		}
	}
	var out []any
	for i, a := range all {
		if g.googleAI && len(out) > 0 {
			g.note(at, key, Narrower, "only the first alternative is offered")
			break
		}
		if a.s == nil {
			out = append(out, g.asText(a.at, "the value", a.from))
			continue
		}
		if texts {
			a.s = g.onlyTexts(a.s, a.at)
		}
		written := g.schema(a.s, a.at, a.via)
		if takers > 1 || takers == 1 && !g.takesEntries(a.s, maxApart) {
			written = g.withoutEntries(written, a.at)
		}
		if written != nil {
			out = append(out, written)
		}
		if g.over() && i > 0 {
			return g.asText(at, "the value", nil)
		}
	}
	return joined(out)
}

// takesEntries reports whether a list of names and values may fit s as it is.
func (g *gemini) takesEntries(v any, depth int) bool {
	s := g.doc.Plain(v)
	if depth == 0 || s == nil || !g.doc.Spend(8) {
		return s != nil
	}
	if branches := slices.Concat(list(s["anyOf"]), list(s["oneOf"])); branches != nil {
		return slices.ContainsFunc(branches, func(b any) bool { return g.takesEntries(b, depth-1) })
	}
	if kinds := types(s); len(kinds) > 0 && !slices.Contains(kinds, "array") || constants(s) != nil {
		return false
	}
	items := g.doc.Plain(s["items"])
	kinds := types(items)
	return s["prefixItems"] != nil || len(kinds) == 0 && constants(items) == nil ||
		slices.Contains(kinds, "object") || slices.Contains(kinds, "array")
}

// enumerations writes alternatives that all enumerate values, as one enumeration.
func (g *gemini) enumerations(all []alternative, s map[string]any, key, at string) map[string]any {
	var values []any
	times := map[any]int{}
	for _, a := range all {
		if !g.work(len(constants(a.s))) {
			return g.asText(at, "the value", s)
		}
		for _, v := range union(fitting(a.s), nil) {
			if times[tree.Identity(v)]++; times[tree.Identity(v)] == 1 {
				values = append(values, v)
			}
		}
	}
	if key == "oneOf" {
		values = slices.DeleteFunc(values, func(v any) bool { return times[tree.Identity(v)] > 1 })
		g.note(at, key, Same, "written as an enumeration")
	}
	about := maps.Clone(s)
	copyKeys(about, all[0].from, "title", "description")
	copyKeys(about, s, "title", "description")
	return g.enumeration(values, about, at)
}

// enum writes enumerated values, or a constant.
func (g *gemini) enum(s map[string]any, at string) map[string]any {
	if _, ok := s["const"]; ok {
		g.note(at, "const", Same, "the constant is written as an enumeration")
	}
	if !g.work(len(constants(s))) {
		return g.asText(at, "the value", s)
	}
	for _, key := range []string{"not", "if"} {
		if says, ok := s[key]; ok && (key == "if" || constants(object(says)) == nil) {
			g.note(at, key, Wider, "left to validation")
		}
	}
	return g.enumeration(fitting(s), s, at)
}
