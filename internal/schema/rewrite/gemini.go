package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Placeholder is the one property of functions without parameters: Gemini
// refuses objects that have none. Package adapter takes it out of arguments.
const Placeholder = "no_parameters"

// maxGeminiDepth bounds how deeply schemas nest; below, values are JSON text.
const maxGeminiDepth = 32

// unrolled are the levels to which what refers to itself is written, the first
// of which with at most maxUnrolled subschemas is taken. At none, what refers to
// itself is JSON text.
var unrolled = []int{3, 2, 1, 0}

const maxUnrolled = 500

// gemini writes the root in Gemini's subset of OpenAPI.
func (w *writer) gemini() map[string]any {
	w.places = places{}
	root := w.flatten(object(w.modern(w.doc.Root, "")))
	left, before := w.left, len(w.changes)
	var out map[string]any
	for _, levels := range unrolled {
		g := &geminiWriter{writer: w, levels: levels, bytes: maxWritten}
		w.changes, w.left, w.writes = w.changes[:before:before], left, maxSteps
		if levels > 0 {
			w.left, w.writes = min(left, maxUnrolled), maxSteps/16
		}
		out = g.typed("object", root, "", nil)
		if out != nil && w.left >= 0 {
			break
		}
	}
	w.lossy = w.lossy || slices.ContainsFunc(w.changes, func(c Change) bool { return c.Path == "" && c.Effect == Wider })
	if len(object(out["properties"])) == 0 {
		placeholder := map[string]any{"type": "boolean", "description": "Leave it out: there are no parameters."}
		if w.target != GoogleAI {
			placeholder["nullable"] = true
		}
		out["properties"] = map[string]any{Placeholder: placeholder}
		w.note("", "properties", Same, "a placeholder, because an object without properties is refused")
		if _, ok := out["minProperties"]; ok {
			delete(out, "minProperties")
			w.note("", "minProperties", Wider, "left to validation, because no properties are described")
		}
	}
	return out
}

// geminiWriter writes subschemas. Where no value fits one, or none that can be
// written, there is nil instead.
type geminiWriter struct {
	*writer
	levels   int             // to which what refers to itself is written
	bytes    steps           // that are still allowed
	unlisted map[change]bool // that there were too many to list of
}

// route is how a subschema was reached: the references that led to it.
type route []string

// asText asks for a value as JSON text.
func (g *geminiWriter) asText(at, what, about string, effect Effect) map[string]any {
	g.note(at, "", effect, what+" is asked for as JSON text")
	out := map[string]any{"type": "string"}
	if about != "" && g.charge(len(about)) {
		out["description"] = about
	}
	describe(out, "Write "+what+" as JSON.")
	g.charge(sizeOf("Write " + what + " as JSON."))
	return out
}

// schema writes one subschema.
func (g *geminiWriter) schema(v any, at string, r route) map[string]any {
	if never(v) {
		g.note(at, "", Same, "left out, because no value fits it")
		return nil
	}
	s, ok := v.(map[string]any)
	if !ok {
		return g.anything(at, "")
	}
	about := text(s["description"])
	at = g.places.of(s, at)
	g.charge(len(at))
	if g.left--; g.left < 0 || strings.Count(at, "/") > 2*maxGeminiDepth || len(r) > maxGeminiDepth {
		return g.asText(at, "the value", about, Wider)
	}
	s, r, ok = g.whole(s, at, r)
	switch {
	case !ok:
		return g.asText(at, "the value", about, Wider)
	case never(s):
		return nil
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := list(s[key]); branches != nil {
			return g.union(s, branches, key, at, r)
		}
	}
	if _, ok := s["const"]; ok || list(s["enum"]) != nil {
		return g.enum(s, at)
	}
	if rest, branches, ok := g.cases(s); ok {
		g.note(at, "anyOf", Same, "a condition is written as alternatives")
		return g.union(rest, branches, "", at, r)
	}
	return g.kind(s, at, r)
}

// kind writes a subschema by its types.
func (g *geminiWriter) kind(s map[string]any, at string, r route) map[string]any {
	all := types(s)
	nullable := slices.Contains(all, "null")
	all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "null" })
	if nullable {
		g.note(at, "type", Same, "null is written as nullable")
	}
	var out map[string]any
	switch {
	case len(all) == 1:
		out = g.typed(all[0], s, at, r)
	case len(all) > 1:
		out = g.each(all, s, at, r)
	case !nullable:
		out = g.untyped(s, at, r)
	}
	if nullable {
		return g.orNull(out)
	}
	return out
}

// orNull lets a value be null, which may be all that it can be.
func (g *geminiWriter) orNull(out map[string]any) map[string]any {
	switch {
	case out != nil:
	case g.target == GoogleAI: // to which null cannot be told
		return nil
	default:
		out = map[string]any{"type": "string", "format": "enum", "enum": []any{"null"}, "description": "Leave it out."}
	}
	g.setNullable(out)
	return out
}

// each writes a subschema once for every type.
func (g *geminiWriter) each(all []string, s map[string]any, at string, r route) map[string]any {
	effect, what := Same, "the types are written as alternatives"
	if g.target == GoogleAI {
		effect, what = Narrower, "only the first type is offered"
	}
	g.note(at, "type", effect, what)
	var out []any
	for _, name := range all {
		written := g.typed(name, s, at, r)
		if name == "object" && written["type"] == "array" && slices.Contains(all, "array") {
			g.note(at, "type", Narrower, "objects are not offered beside lists")
			continue // a list would stay one
		}
		if written == nil {
			continue
		}
		out = append(out, written)
		if g.target == GoogleAI {
			break
		}
	}
	return alternatives(out)
}

// alternatives is a subschema of what was written for each of several, nil for
// none.
func alternatives(written []any) map[string]any {
	var out []any
	for _, one := range written {
		if inner := list(object(one)["anyOf"]); inner != nil {
			out = append(out, inner...)
			continue
		}
		out = append(out, one)
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return object(out[0])
	}
	return map[string]any{"anyOf": out}
}

func (g *geminiWriter) setNullable(s map[string]any) {
	if branches := list(s["anyOf"]); branches != nil {
		for _, b := range branches {
			g.setNullable(object(b))
		}
		return
	}
	if g.target != GoogleAI {
		s["nullable"] = true
	}
}

// count counts how often a reference led to where a route has come.
func count(r route, ref string) int {
	n := 0
	for _, old := range r {
		if old == ref {
			n++
		}
	}
	return n
}

// whole replaces references and merges allOf. What leads back to where it came
// from once too often is nothing; with no levels to be written, and for a
// reference that leads nowhere, it returns false.
func (g *geminiWriter) whole(s map[string]any, at string, r route) (map[string]any, route, bool) {
	at = g.places.of(s, at)
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		target, found := g.doc.Resolve(ref)
		if !found || g.levels == 0 && slices.Contains(r, ref) || !g.spend(breadth(s)+breadth(object(target))) {
			return nil, r, false
		}
		if g.levels > 0 && count(r, ref) >= g.levels {
			g.note(at, "$ref", Narrower, "left out: what refers to itself is written "+strconv.Itoa(g.levels)+" levels deep")
			return nothing, r, true
		}
		r = append(slices.Clone(r), ref)
		g.note(at, "$ref", Same, "the reference is replaced by what it refers to")
		rest := maps.Clone(s)
		delete(rest, "$ref")
		s = g.both(object(g.modern(target, at)), rest, at)
		copyKeys(s, rest, "title", "description", "default")
	}
	for len(list(s["allOf"])) > 0 {
		parts := list(s["allOf"])
		rest := maps.Clone(s)
		delete(rest, "allOf")
		seen := unevaluated(rest)
		for i, p := range parts {
			path := g.places.of(object(p), join(at, "allOf", strconv.Itoa(i)))
			part, inner, ok := g.whole(object(p), path, r)
			if !ok || !g.spend(breadth(rest)+breadth(part)) {
				return nil, r, false
			}
			r = inner
			if never(part) {
				return nothing, r, true
			}
			g.merge(part, path, rest, at)
			rest = g.both(rest, part, path)
		}
		maps.Copy(rest, seen)
		g.note(at, "allOf", Same, "the parts are merged")
		s = rest
	}
	return s, r, true
}

// untyped writes a subschema that does not say its type, by what it does say.
func (g *geminiWriter) untyped(s map[string]any, at string, r route) map[string]any {
	for _, kind := range []struct {
		name     string
		keywords []string
	}{
		{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties"}},
		{"array", []string{"items", "prefixItems", "unevaluatedItems", "minItems", "maxItems", "contains", "uniqueItems"}},
		{"string", []string{"pattern", "minLength", "maxLength", "format", "not", "if"}},
		{"number", []string{"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"}},
	} {
		for _, key := range kind.keywords {
			if _, ok := s[key]; ok {
				g.note(at, "type", Narrower, "the type is taken from "+key)
				return g.typed(kind.name, s, at, r)
			}
		}
	}
	return g.anything(at, text(s["description"]))
}
