package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Placeholder is the only property of a function without parameters: Gemini refuses objects
// without properties. Package toolschema removes it from arguments.
const Placeholder = "no_parameters"

// maxGeminiDepth bounds the references on the way to a subschema, and half the segments of its path.
// Deeper values are JSON text.
const maxGeminiDepth = 32

// recursionLevels are the numbers of levels to which a recursive schema is written, in the order in which they are tried.
// The first one that stays within maxUnrolled and maxUnrollSteps is used. With 0 levels the recursive part is JSON text.
var recursionLevels = []int{3, 2, 1, 0}

// The bounds of an attempt with more than 0 levels.
const (
	maxUnrolled    = 500 // subschemas
	maxUnrollSteps = maxSteps / 16
)

// writeGemini writes a root in Gemini's subset of OpenAPI, or in the part of it that GoogleAI forwards.
func writeGemini(target profile.Profile, root map[string]any, r *report, room *Room) map[string]any {
	d := modernize(root, modernOptions{inline: true}, r)
	in := maps.Clone(d.Root) // references lead to the root as it was
	objectRoot(in, false, r)
	noAttempt := r.clone()
	var out map[string]any
	for _, levels := range recursionLevels {
		*r = noAttempt.clone()
		before := room.budget()
		b := before
		if levels > 0 {
			b.nodes, b.steps = min(b.nodes, maxUnrolled), maxUnrollSteps
		}
		g := &gemini{forms{r, &b, target == profile.GoogleAI, map[uintptr]any{}}, d, levels}
		out = g.schema(in, "", nil)
		if out != nil && !b.isExhausted() || levels == 0 {
			room.spend(before, b, r)
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
// written. at is the path of a subschema in the original, and via are the references that led to it.
type gemini struct {
	forms
	*document
	levels int // how often a recursive reference is followed on the way to a subschema
}

// hop is a reference that was followed, with the paths of its target and of the subschema that has it.
type hop struct{ ref, target, at string }

// path returns the path of a subschema in the original. Below the target of a reference in via it leads through
// the reference. A subschema that was merged from several has no such path: then path returns fallback.
func (g *gemini) path(s map[string]any, fallback string, via []hop) string {
	path, ok := g.places[tree.Address(s)]
	if !ok {
		return fallback
	}
	for _, h := range slices.Backward(via) {
		if below, ok := strings.CutPrefix(path, h.target); ok && (below == "" || below[0] == '/') {
			return h.at + below
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
	resolved, via, ok := g.resolveAll(s, at, via)
	switch {
	case !ok:
		return g.asText(at, "the value", s)
	case tree.Never(resolved):
		return nil
	case tree.List(resolved["anyOf"]) != nil:
		return g.union(resolved, "anyOf", at, via)
	case tree.List(resolved["oneOf"]) != nil:
		return g.union(resolved, "oneOf", at, via)
	case tree.Constants(resolved) != nil:
		return g.enum(resolved, at)
	}
	return g.kinds(resolved, at, via)
}

// resolveAll replaces references and merges allOf, and adds the references to via. It returns false if the subschema
// must be JSON text: follow refuses a reference, or the steps are used up.
func (g *gemini) resolveAll(s map[string]any, at string, via []hop) (map[string]any, []hop, bool) {
	for {
		parts := tree.List(s["allOf"])
		ref, refers := s["$ref"].(string)
		switch {
		case refers:
			target, longer, ok := g.follow(ref, at, via)
			if !ok {
				return nil, via, false
			}
			via, s, parts = longer, tree.Without(s, "$ref"), []any{target}
		case len(parts) > 0:
			g.record(at, "allOf", profile.Same, "the parts are merged")
			s = tree.Without(s, "allOf")
		default:
			return s, via, true
		}
		unevaluated := map[string]any{} // it applies to the properties of all parts
		tree.CopyKeys(unevaluated, s, "unevaluatedProperties")
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
		maps.Copy(s, unevaluated)
	}
}

// follow returns the target of a reference, and via with the reference. The target is tree.Nothing if the reference is
// recursive and was followed g.levels times. It returns false for a reference without a target, and for a recursive
// reference if g.levels is 0.
func (g *gemini) follow(ref, at string, via []hop) (target any, longer []hop, ok bool) {
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
	return target, append(slices.Clip(via), hop{ref, g.places[tree.Address(tree.Object(target))], at}), true
}

// mergeAndReport merges two subschemas that both apply, and reports the keywords that are lost. It returns tree.Nothing
// if the two contradict each other.
func (g *gemini) mergeAndReport(a, b map[string]any, at string) map[string]any {
	out, lost := merge(a, b)
	if slices.ContainsFunc(lost, contradicts) {
		return tree.Nothing
	}
	for _, key := range lost {
		g.record(at, key, profile.Wider, "one of two demands is left to validation")
	}
	return out
}

// contradicts reports whether two different values of a keyword allow no value.
func contradicts(key string) bool { return key == "const" || key == "enum" || key == "type" }
