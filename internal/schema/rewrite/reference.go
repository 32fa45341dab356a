package rewrite

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// isOldDraft reports whether a schema declares one of draft-04 to draft-07, which say of a
// $ref: "All other properties in a "$ref" object MUST be ignored". The URIs of later drafts have the form "/draft/2019-09".
func isOldDraft(s map[string]any) bool {
	return strings.Contains(tree.Text(s["$schema"]), "/draft-0")
}

// dropBesideRef removes the keywords that an old draft ignores beside $ref.
func (m *modernizer) dropBesideRef(s map[string]any, at string) map[string]any {
	if _, ok := s["$ref"].(string); !ok || !m.ignoresBesideRefs {
		return s
	}
	out := maps.Clone(s)
	for _, key := range tree.Keys(s) {
		switch {
		case key == "$ref", key == "definitions", key == "$defs", slices.Contains(tree.Remarks, key), strings.HasPrefix(key, "x-"):
		default:
			delete(out, key)
			m.record(at, key, profile.Same, "left out, because its draft ignores it beside $ref")
		}
	}
	return out
}

// unresolvable is a reference that never has a target.
const unresolvable = "elsewhere"

// updateReference points a reference to the new place of its target. A reference below an $id is relative to that
// document and stays as it is, but where references are inlined, it becomes unresolvable, and so do dynamic ones.
func (m *modernizer) updateReference(out map[string]any) {
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := out[key]; ok && m.inline {
			delete(out, key)
			out["$ref"] = unresolvable
		}
	}
	ref, ok := out["$ref"].(string)
	switch {
	case ok && m.foreign && m.inline:
		out["$ref"] = unresolvable
	case ok && !m.foreign:
		out["$ref"] = m.modernReference(ref)
	}
}

// modernReference returns a reference to the new place of its target. It returns a reference unchanged if its target keeps
// its place, or is not a subschema of this document that a pointer names.
func (m *modernizer) modernReference(ref string) string {
	place, ok := tree.Fragment(ref)
	if !ok || !strings.HasPrefix(place, "/") {
		return ref
	}
	path := tree.Segments(place)
	modern := slices.Clone(path)
	v := any(m.original.Root)
	holder := "" // the keyword whose names or indexes v has; "" if v is a subschema
	for i, segment := range path {
		s := tree.Object(v)
		if v, ok = tree.Step(v, segment); !ok {
			return ref
		}
		if holder != "" {
			if alias, ok := m.aliases[segment]; ok && slices.Contains(aliased, holder) {
				modern[i] = alias
			}
			holder = ""
			continue
		}
		a, ok := tree.Lookup(segment)
		if !ok || m.original.MovesBase(s) {
			return ref
		}
		modern[i] = m.modernKeyword(segment, s)
		if a.Named() || tree.List(v) != nil {
			holder = modern[i]
		}
	}
	if slices.Equal(modern, path) {
		return ref
	}
	return tree.Reference(modern...)
}

// modernKeyword returns the name that a keyword of s, a subschema of the original, gets where it holds subschemas.
func (m *modernizer) modernKeyword(keyword string, s map[string]any) string {
	switch {
	case keyword == "items" && isTuple(s):
		return "prefixItems"
	case keyword == "additionalItems" && isTuple(s), keyword == "unevaluatedItems" && m.closesByItems(s):
		return "items"
	case keyword == "dependencies":
		return "dependentSchemas"
	}
	return keyword
}
