package rewrite

import (
	"maps"
	"reflect"
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
		out["properties"] = map[string]any{Placeholder: map[string]any{
			"type": "boolean", "description": "Leave it out: there are no parameters.", "nullable": true,
		}}
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
		g.note(at, "type", Same, "the types are written as alternatives")
		out = map[string]any{"anyOf": g.each(all, s, at, r)}
	case nullable:
		out = map[string]any{"type": "string", "description": "Leave it out."}
	default:
		out = g.untyped(s, at, r)
	}
	if nullable || s["nullable"] == true {
		setNullable(out)
	}
	return out
}

// each writes a subschema once for every type.
func (g *geminiWriter) each(all []string, s map[string]any, at string, r route) []any {
	var out []any
	for _, name := range all {
		out = append(out, g.typed(name, s, at, r))
	}
	return out
}

func setNullable(s map[string]any) {
	if branches := list(s["anyOf"]); branches != nil {
		for _, b := range branches {
			setNullable(object(b))
		}
		return
	}
	s["nullable"] = true
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
		if !found || slices.Contains(r, ref) {
			return nil, r, false
		}
		r = append(slices.Clone(r), ref)
		g.note(at, "$ref", Same, "the reference is replaced by what it refers to")
		rest := maps.Clone(s)
		delete(rest, "$ref")
		s = g.merge(object(g.modern(target, at)), rest, at)
	}
	for len(list(s["allOf"])) > 0 {
		parts := list(s["allOf"])
		rest := maps.Clone(s)
		delete(rest, "allOf")
		for i, p := range parts {
			part, inner, ok := g.whole(object(p), join(at, "allOf", strconv.Itoa(i)), r)
			if !ok {
				return nil, r, false
			}
			r = inner
			rest = g.merge(part, rest, at)
		}
		g.note(at, "allOf", Same, "the parts are merged")
		s = rest
	}
	return s, r, true
}

// merge makes one subschema of two that hold together; what over says counts.
func (g *geminiWriter) merge(under, over map[string]any, at string) map[string]any {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]any{}
	}
	for _, key := range keys(over) {
		old, both := out[key]
		switch {
		case !both || reflect.DeepEqual(old, over[key]):
			out[key] = over[key]
		case key == "properties":
			merged := maps.Clone(object(old))
			for name, p := range object(over[key]) {
				if q, ok := merged[name]; ok && !reflect.DeepEqual(p, q) {
					p = map[string]any{"allOf": []any{q, p}}
				}
				merged[name] = p
			}
			out[key] = merged
		case key == "required":
			all := names(old)
			for _, name := range names(over[key]) {
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
			out[key] = anys(all)
		case key == "description" || key == "title" || key == "default" || key == "examples":
			out[key] = over[key]
		default:
			out[key] = over[key]
			g.note(at, key, Wider, "one of two demands is left to validation")
		}
	}
	return out
}

// union writes alternatives, beside which nothing else may stand.
func (g *geminiWriter) union(s map[string]any, branches []any, key, at string, r route) map[string]any {
	base := maps.Clone(s)
	delete(base, key)
	nullable := false
	var out []any
	for i, b := range branches {
		path := join(at, key, strconv.Itoa(i))
		if names := types(object(b)); len(names) == 1 && names[0] == "null" {
			nullable = true
			continue
		}
		part, inner, ok := g.whole(object(b), path, r)
		if !ok {
			out = append(out, g.asText(path, "the value", text(object(b)["description"]), Wider))
			continue
		}
		out = append(out, g.schema(g.merge(base, part, path), path, inner))
	}
	if key == "oneOf" && len(out) > 1 {
		g.note(at, key, Wider, "written as anyOf")
	}
	if nullable {
		g.note(at, key, Same, "null is written as nullable")
	}
	out = oneEnum(out)
	written := map[string]any{"anyOf": out}
	switch len(out) {
	case 0:
		written = map[string]any{"type": "string", "description": "Leave it out."}
	case 1:
		written = object(out[0])
	}
	if nullable {
		setNullable(written)
	}
	return written
}

// oneEnum makes one enumeration of alternatives that are nothing else.
func oneEnum(branches []any) []any {
	var all []any
	for _, b := range branches {
		values := list(object(b)["enum"])
		if values == nil || object(b)["nullable"] == true {
			return branches
		}
		for _, v := range values {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	if len(all) == 0 {
		return branches
	}
	out := map[string]any{"type": "string", "format": "enum", "enum": all}
	copyKeys(out, object(branches[0]), "title", "description")
	return []any{out}
}

// enum writes enumerated values, which are strings.
func (g *geminiWriter) enum(s map[string]any, at string) map[string]any {
	values := list(s["enum"])
	if v, ok := s["const"]; ok {
		values = []any{v}
		g.note(at, "const", Same, "the constant is written as an enumeration")
	}
	out := map[string]any{"type": "string", "format": "enum"}
	copyKeys(out, s, "title", "description")
	var spelled []any
	odd, empty := false, false
	for _, v := range values {
		name, ok := v.(string)
		switch {
		case v == nil:
			out["nullable"] = true
			continue
		case !ok:
			odd, name = true, show(v)
		case name == "":
			empty = true
			continue
		}
		if !slices.Contains(spelled, any(name)) {
			spelled = append(spelled, name)
		}
	}
	if odd {
		g.note(at, "enum", Same, "the values are written as strings")
	}
	if empty && len(spelled) > 0 {
		g.note(at, "enum", Narrower, "the empty value is not offered")
	}
	if len(spelled) == 0 {
		g.note(at, "enum", Wider, "the empty value cannot be asked for")
		delete(out, "format")
		return out
	}
	out["enum"] = spelled
	return out
}

func copyKeys(out, in map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
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
