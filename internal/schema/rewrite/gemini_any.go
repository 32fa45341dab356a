package rewrite

import (
	"maps"
	"slices"
)

// anything asks for a value of which nothing is said, in forms that need not be
// turned back: from a text one could not tell whether it was meant as JSON.
func (g *geminiWriter) anything(at, about string) map[string]any {
	first := map[string]any{"type": "string"}
	if about != "" && g.charge(len(about)) {
		first["description"] = about
	}
	if g.target == GoogleAI || g.full() {
		g.note(at, "", Narrower, "of any value only texts are offered")
		g.charge(16)
		return first
	}
	g.note(at, "", Narrower, "of any value no objects are offered")
	out := map[string]any{"anyOf": append([]any{first}, append(scalarForms()[1:], map[string]any{
		"type": "array", "items": map[string]any{"anyOf": scalarForms()},
	})...)}
	g.charge(256)
	g.setNullable(out)
	return out
}

// scalarForms are those of texts, numbers and booleans.
func scalarForms() []any {
	return []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}, map[string]any{"type": "boolean"}}
}

// withoutEntries leaves out of what was written of an alternative the lists of
// names and values that stand for objects.
func (g *geminiWriter) withoutEntries(written, s map[string]any, at string) map[string]any {
	if slices.Contains(types(s), "array") {
		return written
	}
	forms := list(written["anyOf"])
	if forms == nil {
		forms = []any{written}
	}
	left := slices.DeleteFunc(slices.Clone(forms), func(form any) bool { return isEntries(object(form)) })
	if len(left) == len(forms) {
		return written
	}
	g.note(at, "type", Narrower, "objects are not offered beside lists")
	return alternatives(left)
}

// onlyTexts leaves out of what enumerates values those that are no texts, which
// they would be taken for.
func (g *geminiWriter) onlyTexts(s map[string]any, at string) map[string]any {
	values := constants(s)
	left := slices.DeleteFunc(slices.Clone(values), func(v any) bool { _, ok := v.(string); return !ok && v != nil })
	if len(left) == len(values) {
		return s
	}
	g.note(at, said(s, "enum"), Narrower, "values that are no texts are not offered beside texts")
	s = maps.Clone(s)
	delete(s, "const")
	s["enum"] = left
	return s
}

// takesText reports whether any text may fit s, down to a depth.
func (g *geminiWriter) takesText(v any, depth int) bool {
	s := g.doc.plain(v)
	if depth == 0 || !g.doc.Spend(8) {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := list(s[key]); branches != nil {
			return slices.ContainsFunc(branches, func(b any) bool { return g.takesText(b, depth-1) })
		}
	}
	all := types(s)
	return constants(s) == nil && (len(all) == 0 || slices.Contains(all, "string"))
}

// isEntries reports whether what was written is a list of names and values.
func isEntries(written map[string]any) bool {
	properties := object(object(written["items"])["properties"])
	for name := range properties {
		if name != EntryName && name != EntryValue && name != EntryJSON {
			return false
		}
	}
	return len(properties) > 1 && properties[EntryName] != nil
}

// takesEntries reports whether a list of names and values may fit s as it is, or
// wrapped, down to a depth.
func (g *geminiWriter) takesEntries(v any, depth int) bool {
	s := g.doc.plain(v)
	if depth == 0 || !g.doc.Spend(8) {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := list(s[key]); branches != nil {
			return slices.ContainsFunc(branches, func(b any) bool { return g.takesEntries(b, depth-1) })
		}
	}
	if constants(s) != nil {
		return false
	}
	all := types(s)
	if len(all) > 0 && !slices.Contains(all, "array") {
		return false
	}
	items := g.doc.plain(s["items"])
	inner := types(items)
	return s["prefixItems"] != nil || len(inner) == 0 && constants(items) == nil ||
		slices.Contains(inner, "object") || slices.Contains(inner, "array")
}
