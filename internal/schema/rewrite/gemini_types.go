package rewrite

import (
	"maps"
	"slices"
)

// typed writes a subschema of one type.
func (g *geminiWriter) typed(name string, s map[string]any, at string, r route) map[string]any {
	out := map[string]any{"type": name}
	copyKeys(out, s, "title", "description", "default")
	switch name {
	case "object":
		if !g.object(out, s, at, r) {
			return nil
		}
		if g.full() && at != "" {
			return g.asText(at, "the object", "", Wider)
		}
		if out["properties"] == nil && at != "" {
			if out = g.entries(s, at, r); out == nil {
				return nil
			}
		}
	case "array":
		if s = g.contained(s, at); !g.array(out, s, at, r) {
			return nil
		}
	case "string":
		copyKeys(out, s, "pattern", "minLength", "maxLength")
		if format := text(s["format"]); format == "date-time" {
			out["format"] = format
		} else if format != "" {
			g.note(at, "format", Same, "the format is told in the description")
			describe(out, "(format: "+format+")")
		}
	case "number", "integer":
		if _, ok := s["multipleOf"]; ok {
			if values := g.multiples(s, name == "integer"); values != nil && g.target != GoogleAI {
				g.note(at, "multipleOf", Same, "the multiples are enumerated")
				if len(values) == 0 {
					return nil
				}
				return g.enumeration(values, s, at)
			}
			s = g.wholes(out, s, at)
		}
		g.number(out, s, at)
	}
	g.loose(out, s, name, at)
	g.leaveOut(out, s, at)
	if !g.affords(out) && at != "" {
		return g.asText(at, "the value", "", Wider)
	}
	return g.carried(out, s, at)
}

// wholes writes the multiples of 1 as integers. What it returns is s without
// multipleOf when that says it.
func (g *geminiWriter) wholes(out, s map[string]any, at string) map[string]any {
	step, ok := rational(s["multipleOf"])
	if !ok || !step.IsInt() {
		return s
	}
	out["type"] = "integer"
	if step.Cmp(rat(1)) != 0 {
		return s
	}
	g.note(at, "multipleOf", Same, "written as integer")
	s = maps.Clone(s)
	delete(s, "multipleOf")
	return s
}

// concerns are the types that keywords speak of which Gemini does not know; none
// for all.
var concerns = map[string][]string{
	"not": nil, "if": nil, "dependentRequired": {"object"}, "dependentSchemas": {"object"},
	"contains": {"array"}, "multipleOf": {"number", "integer"},
}

// loose notes the keywords that are left to validation.
func (g *geminiWriter) loose(out, s map[string]any, name, at string) {
	for _, key := range slices.Sorted(maps.Keys(concerns)) {
		value, ok := s[key]
		if !ok || concerns[key] != nil && !slices.Contains(concerns[key], name) {
			continue
		}
		g.note(at, key, Wider, "left to validation")
		if key == "multipleOf" {
			describe(out, "("+key+": "+show(value)+")")
		}
	}
	if s["uniqueItems"] == true && name == "array" {
		g.note(at, "uniqueItems", uniqueness(s), "told in the description")
		describe(out, "(uniqueItems: true)")
	}
}

// uniqueness is the effect of leaving uniqueItems out. What is there twice is
// taken out before validation, after which there may be too little.
func uniqueness(s map[string]any) Effect {
	if least, ok := rational(s["minItems"]); ok && least.Cmp(rat(1)) > 0 {
		return Wider
	}
	return Same
}

// leaveOut notes the keywords that Gemini does not know, that demand nothing and
// that a model could make something of.
func (g *geminiWriter) leaveOut(out, s map[string]any, at string) {
	for _, key := range keys(s) {
		_, kept := out[key]
		if !kept && (key == "discriminator" || slices.Contains(annotationKeywords, key)) {
			g.note(at, key, Same, "left out")
		}
	}
}
