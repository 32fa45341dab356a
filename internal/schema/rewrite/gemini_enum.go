package rewrite

import (
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// enumerations writes alternatives that all enumerate values as one enumeration. For oneOf it leaves out the values of
// several alternatives.
func (g *gemini) enumerations(all []alternative, s map[string]any, key, at string) map[string]any {
	var values []any
	times := map[any]int{}
	for _, a := range all {
		if !g.work(len(tree.Constants(a.merged))) {
			return g.asText(at, "the value", s)
		}
		for _, v := range distinct(satisfyingValues(a.merged)) {
			if times[tree.Identity(v)]++; times[tree.Identity(v)] == 1 {
				values = append(values, v)
			}
		}
	}
	if key == "oneOf" {
		values = slices.DeleteFunc(values, func(v any) bool { return times[tree.Identity(v)] > 1 })
		g.record(at, key, profile.Same, "written as an enumeration")
	}
	described := maps.Clone(s)
	tree.CopyKeys(described, all[0].branch, "title", "description")
	tree.CopyKeys(described, s, "title", "description") // s has the last word
	return g.enumeration(values, described, at)
}

// enum writes the values of enum or const that the other keywords allow.
func (g *gemini) enum(s map[string]any, at string) map[string]any {
	if _, ok := s["const"]; ok {
		g.record(at, "const", profile.Same, "the constant is written as an enumeration")
	}
	if !g.work(len(tree.Constants(s))) {
		return g.asText(at, "the value", s)
	}
	for _, key := range []string{"not", "if"} {
		if _, ok := s[key]; ok {
			g.record(at, key, profile.Wider, "left to validation")
		}
	}
	return g.enumeration(satisfyingValues(s), s, at)
}

// onlyStrings removes the enumerated values that are neither strings nor null, because beside strings they would
// be taken for strings.
func (f *forms) onlyStrings(s map[string]any, at string) map[string]any {
	values := tree.Constants(s)
	kept := slices.DeleteFunc(slices.Clone(values), func(v any) bool { _, ok := v.(string); return !ok && v != nil })
	if len(kept) == len(values) {
		return s
	}
	f.record(at, sourceKeyword(s, "enum"), profile.Narrower, "values that are not strings are not offered beside strings")
	s = tree.Without(s, "const")
	s["enum"] = kept
	return s
}

// enumeration writes the values of s as strings, because Gemini enumerates only strings, and null as nullable. It leaves
// out the empty string, which Gemini refuses. For GoogleAI, where the description lists the
// values, numbers and booleans keep their type. It returns nil if no value can be written.
func (f *forms) enumeration(values []any, s map[string]any, at string) map[string]any {
	if len(values) == 0 {
		f.record(at, "", profile.Same, "left out, because it allows no value")
		return nil
	}
	e := spellValues(values)
	out := map[string]any{"type": "string", "format": "enum", "enum": distinct(e.texts)}
	tree.CopyKeys(out, s, "title", "description")
	switch kind := scalarKind(distinct(e.kinds)); {
	case f.googleAI && kind != "": // the description lists the values
		out["type"] = kind
	case e.converted:
		f.record(at, "enum", profile.Same, "the values are written as strings")
	}
	if e.null && f.googleAI {
		f.reportNull(at, "enum")
	}
	if e.empty {
		f.record(at, "enum", profile.Narrower, "the empty value is not offered")
	}
	if len(e.texts) == 0 {
		return f.orNull(nil, e.null)
	}
	return f.orNull(f.finish(out, s, at), e.null)
}

// spelledValues are enumerated values as strings.
type spelledValues struct {
	texts, kinds []any // the values and their types, without null and the empty string
	converted    bool  // some of them are not strings
	empty, null  bool  // the empty string, or null, is a value
}

// spellValues writes values as strings.
func spellValues(values []any) (e spelledValues) {
	for _, v := range values {
		switch text, isText := v.(string); {
		case v == nil:
			e.null = true
		case isText && text == "":
			e.empty = true
		case isText:
			e.texts, e.kinds = append(e.texts, text), append(e.kinds, tree.TypeOf(v))
		default:
			e.converted = true
			e.texts, e.kinds = append(e.texts, tree.Show(v)), append(e.kinds, tree.TypeOf(v))
		}
	}
	return e
}

// scalarKind returns the common type of values of these types if all are numbers or all are booleans, else "".
func scalarKind(kinds []any) string {
	switch {
	case len(kinds) == 2 && slices.Contains(kinds, any("integer")) && slices.Contains(kinds, any("number")):
		return "number"
	case len(kinds) == 1 && kinds[0] != "string" && kinds[0] != "array" && kinds[0] != "object":
		return tree.Text(kinds[0])
	}
	return ""
}
