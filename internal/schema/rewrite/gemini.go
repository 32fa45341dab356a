package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Placeholder is the one property of functions without parameters: Gemini refuses
// objects that have none. Package toolschema removes it from arguments.
const Placeholder = "no_parameters"

// maxGeminiDepth bounds how deeply schemas nest; below, values are JSON text.
const maxGeminiDepth = 32

// unrolled are the numbers of levels to which a recursive schema is tried, in this order. The first
// one with at most maxUnrolled subschemas is used. With 0 levels the recursive part is JSON text.
var unrolled = []int{3, 2, 1, 0}

const maxUnrolled = 500

// writeGemini writes a root in Gemini's subset of OpenAPI.
func writeGemini(target profile.Profile, root map[string]any, r *report, room *Room) map[string]any {
	d := modernize(root, modernOptions{inline: true}, r)
	in := maps.Clone(d.Root) // references lead to the root as it was
	objectRoot(in, false, r)
	before := r.clone()
	var out map[string]any
	for _, levels := range unrolled {
		*r = before.clone()
		whole := room.budget()
		b := *whole
		if levels > 0 {
			b.nodes, b.steps = min(b.nodes, maxUnrolled), maxSteps/16
		}
		g := &gemini{forms{r, &b, target == profile.GoogleAI, map[uintptr]any{}}, d, levels}
		out = g.schema(in, "", nil)
		if out != nil && !b.isExhausted() || levels == 0 {
			room.spend(*whole, b, r)
			break
		}
	}
	return geminiRoot(out, WrapperName(root), target, r)
}

// geminiRoot turns a written root into an object with at least one property, which Gemini requires.
func geminiRoot(out map[string]any, name string, target profile.Profile, r *report) map[string]any {
	switch {
	case out == nil:
		r.record("", "", profile.Wider, "left to validation, because it allows no arguments")
		out = map[string]any{"type": "object"}
	case out["type"] != "object" && name != "":
		r.record("", "", profile.Same, wrapNote(name))
		return wrapperObject(name, out)
	case out["properties"] != nil:
		return out
	}
	if _, ok := out["minProperties"]; ok {
		delete(out, "minProperties")
		r.record("", "minProperties", profile.Wider, "left to validation, because no properties are described")
	}
	r.record("", "properties", profile.Same, "a placeholder, because an object without properties is refused")
	placeholder := map[string]any{"type": "boolean", "description": "Leave it out: there are no parameters."}
	if target == profile.Gemini {
		placeholder["nullable"] = true
	}
	out["properties"] = map[string]any{Placeholder: placeholder}
	return out
}

// gemini writes subschemas. Its methods return nil if a subschema allows no value that can be
// written. via are the references that led to a subschema.
type gemini struct {
	forms
	*document
	levels int // how often a reference to itself is followed
}

// hop is a reference that was followed: from is the path of its target, to the path of the
// reference.
type hop struct{ ref, from, to string }

// path returns the path of a subschema in the original, through references; otherwise if it is
// unknown.
func (g *gemini) path(s map[string]any, otherwise string, via []hop) string {
	path, ok := g.places[tree.Address(s)]
	if !ok {
		return otherwise
	}
	for _, h := range slices.Backward(via) {
		if below, ok := strings.CutPrefix(path, h.from); ok && (below == "" || below[0] == '/') {
			return h.to + below
		}
	}
	return path
}

// schema writes one subschema.
func (g *gemini) schema(v any, at string, via []hop) map[string]any {
	s, ok := v.(map[string]any)
	if ok {
		at = g.path(s, at, via)
	}
	switch {
	case tree.Never(v):
		g.record(at, "", profile.Same, "left out, because it allows no value")
		return nil
	case !ok:
		return g.anything(at, nil)
	case !g.node() && at != "", len(via) > maxGeminiDepth, strings.Count(at, "/") > 2*maxGeminiDepth:
		return g.asText(at, "the value", s)
	}
	whole, via, ok := g.resolveAll(s, at, via)
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

// resolveAll replaces references and merges allOf. A reference that leads to itself more than
// g.levels times becomes tree.Nothing. It returns false if the subschema must be JSON text: a
// reference has no target, or is recursive and g.levels is 0.
func (g *gemini) resolveAll(s map[string]any, at string, via []hop) (map[string]any, []hop, bool) {
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
				g.record(at, "$ref", profile.Narrower, "left out: a recursive schema is written "+strconv.Itoa(g.levels)+" levels deep")
				return tree.Nothing, via, true
			}
			g.record(at, "$ref", profile.Same, "the reference is replaced by what it refers to")
			via = append(slices.Clip(via), hop{ref, g.places[tree.Address(tree.Object(target))], at})
			s, parts = tree.Without(s, "$ref"), []any{target}
		case len(parts) > 0:
			g.record(at, "allOf", profile.Same, "the parts are merged")
			s = tree.Without(s, "allOf")
		default:
			return s, via, true
		}
		rest := map[string]any{} // applies to the properties of all parts
		tree.CopyKeys(rest, s, "unevaluatedProperties")
		s = tree.Without(s, "unevaluatedProperties")
		for _, p := range parts {
			if tree.Never(p) {
				return tree.Nothing, via, true
			}
			part, inner, ok := tree.Object(p), via, true
			if !refers {
				part, inner, ok = g.resolveAll(part, g.path(part, at, via), via)
			}
			if !ok || !g.work(mergeCost(s)+mergeCost(part)) {
				return nil, via, false
			}
			via = inner
			if tree.Never(part) {
				return tree.Nothing, via, true
			}
			s = g.mergeAndReport(s, part, at)
		}
		maps.Copy(s, rest)
	}
}

// mergeAndReport merges two subschemas that both apply, and reports the keywords that are lost.
func (g *gemini) mergeAndReport(a, b map[string]any, at string) map[string]any {
	out, lost := merge(a, b)
	for _, key := range lost {
		if contradicts(key) {
			return tree.Nothing
		}
		g.record(at, key, profile.Wider, "one of two demands is left to validation")
	}
	return out
}

// contradicts reports whether two different values of a keyword allow no value.
func contradicts(key string) bool { return key == "const" || key == "enum" || key == "type" }
