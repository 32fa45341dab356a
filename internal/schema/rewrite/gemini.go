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

// gemini writes the root in Gemini's subset of OpenAPI.
func (w *writer) gemini() map[string]any {
	root := w.flatten(object(w.modern(w.root, "")))
	g := &geminiWriter{writer: w}
	out := g.typed("object", root, "", nil)
	if len(object(out["properties"])) == 0 {
		placeholder := map[string]any{"type": "boolean", "description": "Leave it out: there are no parameters."}
		g.setNullable(placeholder)
		out["properties"] = map[string]any{Placeholder: placeholder}
		w.note("", "properties", Same, "a placeholder, because an object without properties is refused")
	}
	return out
}

type geminiWriter struct{ *writer }

// route is how a subschema was reached: the references that led to it.
type route []string

// asText asks for a value as JSON text.
func (g *geminiWriter) asText(at, what, about string, effect Effect) map[string]any {
	g.note(at, "", effect, what+" is asked for as JSON text")
	out := map[string]any{"type": "string"}
	if about != "" {
		out["description"] = about
	}
	describe(out, "Write "+what+" as JSON.")
	return out
}

// schema writes one subschema.
func (g *geminiWriter) schema(v any, at string, r route) map[string]any {
	s, ok := v.(map[string]any)
	if !ok {
		return g.asText(at, "any value", "", Narrower)
	}
	about := text(s["description"])
	if g.left--; g.left < 0 || strings.Count(at, "/") > 2*maxGeminiDepth || len(r) > maxGeminiDepth {
		return g.asText(at, "the value", about, Wider)
	}
	s, r, ok = g.whole(s, at, r)
	if !ok {
		return g.asText(at, "the value", about, Wider)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := list(s[key]); branches != nil {
			return g.union(s, branches, key, at, r)
		}
	}
	if _, ok := s["const"]; ok || list(s["enum"]) != nil {
		return g.enum(s, at)
	}
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
	case nullable:
		out = map[string]any{"type": "string", "description": "Leave it out."}
	default:
		out = g.untyped(s, at, r)
	}
	if nullable {
		g.setNullable(out)
	}
	return out
}

// each writes a subschema once for every type.
func (g *geminiWriter) each(all []string, s map[string]any, at string, r route) map[string]any {
	if g.target == GoogleAI {
		g.note(at, "type", Narrower, "only the first type is offered")
		return g.typed(all[0], s, at, r)
	}
	g.note(at, "type", Same, "the types are written as alternatives")
	var out []any
	for _, name := range all {
		out = append(out, g.typed(name, s, at, r))
	}
	return map[string]any{"anyOf": out}
}

// anyOf notes that oneOf is written as anyOf.
func (w *writer) anyOf(branches []any, at string) {
	effect := Wider
	if w.disjoint(branches) {
		effect = Same
	}
	w.note(at, "oneOf", effect, "written as anyOf")
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

// whole replaces references and merges allOf. It returns false for a reference
// that leads back to where it came from, or nowhere.
func (g *geminiWriter) whole(s map[string]any, at string, r route) (map[string]any, route, bool) {
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		target, found := g.resolve(ref)
		if !found || slices.Contains(r, ref) || !g.writes.spend(breadth(s)+breadth(object(target))) {
			return nil, r, false
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
		for i, p := range parts {
			part, inner, ok := g.whole(object(p), join(at, "allOf", strconv.Itoa(i)), r)
			if !ok || !g.writes.spend(breadth(rest)+breadth(part)) {
				return nil, r, false
			}
			r = inner
			rest = g.both(rest, part, join(at, "allOf", strconv.Itoa(i)))
		}
		g.note(at, "allOf", Same, "the parts are merged")
		s = rest
	}
	return s, r, true
}

// breadth is what a subschema costs to be merged, in steps.
func breadth(s map[string]any) int {
	return 1 + len(s) + len(object(s["properties"])) + len(list(s["required"])) + len(list(s["enum"])) + len(list(s["allOf"]))
}

// both merges two subschemas that hold together, the second of which stands at.
func (g *geminiWriter) both(a, b map[string]any, at string) map[string]any {
	out, lost := conjoin(a, b)
	for _, key := range lost {
		g.note(at, key, Wider, "one of two demands is left to validation")
	}
	return out
}

// untyped writes a subschema that does not say its type, by what it does say.
func (g *geminiWriter) untyped(s map[string]any, at string, r route) map[string]any {
	for _, kind := range []struct {
		name     string
		keywords []string
	}{
		{"object", []string{"properties", "required", "additionalProperties", "patternProperties"}},
		{"array", []string{"items", "prefixItems", "minItems", "maxItems"}},
		{"string", []string{"pattern", "minLength", "maxLength", "format"}},
		{"number", []string{"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"}},
	} {
		for _, key := range kind.keywords {
			if _, ok := s[key]; ok {
				g.note(at, "type", Narrower, "the type is taken from "+key)
				return g.typed(kind.name, s, at, r)
			}
		}
	}
	return g.asText(at, "any value", text(s["description"]), Narrower)
}
