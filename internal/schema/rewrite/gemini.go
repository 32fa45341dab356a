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
func writeGemini(target Target, root map[string]any, r *Report, room *Room) map[string]any {
	d := modernize(root, modernOptions{Inline: true}, r)
	in := maps.Clone(d.Root) // references lead to the root as it was
	objectRoot(in, false, r)
	before := r.Clone()
	var out map[string]any
	for _, levels := range unrolled {
		*r = before.Clone()
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
	return geminiRoot(out, WrapperName(root), target, r)
}

// geminiRoot makes an object with properties of what was written of a root.
func geminiRoot(out map[string]any, name string, target Target, r *Report) map[string]any {
	switch {
	case out == nil:
		r.Note("", "", Wider, "left to validation, because no arguments fit")
		out = map[string]any{"type": "object"}
	case out["type"] != "object" && name != "":
		r.Note("", "", Same, wrapNote(name))
		return wrapped(name, out)
	case out["properties"] != nil:
		return out
	}
	if _, ok := out["minProperties"]; ok {
		delete(out, "minProperties")
		r.Note("", "minProperties", Wider, "left to validation, because no properties are described")
	}
	r.Note("", "properties", Same, "a placeholder, because an object without properties is refused")
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
	place, ok := g.Places[tree.Address(s)]
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
	case tree.Never(v):
		g.Note(at, "", Same, "left out, because no value fits it")
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
	case tree.Never(whole):
		return nil
	case tree.List(whole["anyOf"]) != nil:
		return g.union(whole, "anyOf", at, via)
	case tree.List(whole["oneOf"]) != nil:
		return g.union(whole, "oneOf", at, via)
	case tree.Constants(whole) != nil:
		return g.enum(whole, at)
	}
	return g.kinds(whole, at, via)
}

// whole replaces references and merges allOf. What leads back to where it came from too
// often is nothing. It returns false for a reference without a target, and for what
// refers to itself if that is JSON text.
func (g *gemini) whole(s map[string]any, at string, via []hop) (map[string]any, []hop, bool) {
	for {
		parts := tree.List(s["allOf"])
		ref, refers := s["$ref"].(string)
		switch {
		case refers:
			target, found := g.Resolve(ref)
			times := len(slices.DeleteFunc(slices.Clone(via), func(h hop) bool { return h.ref != ref }))
			switch {
			case !found, g.levels == 0 && times > 0:
				return nil, via, false
			case g.levels > 0 && times >= g.levels:
				g.Note(at, "$ref", Narrower, "left out: what refers to itself is written "+strconv.Itoa(g.levels)+" levels deep")
				return tree.Nothing, via, true
			}
			g.Note(at, "$ref", Same, "the reference is replaced by what it refers to")
			via = append(slices.Clip(via), hop{ref, g.Places[tree.Address(tree.Object(target))], at})
			s, parts = tree.Without(s, "$ref"), []any{target}
		case len(parts) > 0:
			g.Note(at, "allOf", Same, "the parts are merged")
			s = tree.Without(s, "allOf")
		default:
			return s, via, true
		}
		seen := map[string]any{} // what sees the properties and items of all parts
		tree.CopyKeys(seen, s, "unevaluatedProperties", "unevaluatedItems")
		s = tree.Without(s, "unevaluatedProperties", "unevaluatedItems")
		for _, p := range parts {
			if tree.Never(p) {
				return tree.Nothing, via, true
			}
			part, inner, ok := tree.Object(p), via, true
			if !refers {
				part, inner, ok = g.whole(part, g.place(part, at, via), via)
			}
			if !ok || !g.work(breadth(s)+breadth(part)) {
				return nil, via, false
			}
			if via = inner; tree.Never(part) {
				return tree.Nothing, via, true
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
			return tree.Nothing
		}
		g.Note(at, key, Wider, "one of two demands is left to validation")
	}
	return out
}

// contradicts reports whether two values of a keyword leave no value.
func contradicts(key string) bool { return key == "const" || key == "enum" || key == "type" }
