package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// ignoresBesideRefs reports whether a schema declares a draft up to draft-07, which says of a
// $ref: "All other properties in a "$ref" object MUST be ignored".
func ignoresBesideRefs(s map[string]any) bool {
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

// updateReference points a reference to the new place of its target. If references will be replaced
// by their targets, dynamic references, and those of a subschema with its own $id, become unresolvable.
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

// modernReference returns a local reference to the new path of its target. It returns other references unchanged.
func (m *modernizer) modernReference(ref string) string {
	place, ok := tree.Fragment(ref)
	if !ok || !strings.HasPrefix(place, "/") {
		return ref
	}
	var path []string
	v, changed := any(m.original.Root), false
	for rest := strings.Split(place[1:], "/"); len(rest) > 0; {
		s, keyword := tree.Object(v), rest[0]
		rest = rest[1:]
		a, ok := tree.Lookup(keyword)
		if !ok || s[keyword] == nil || m.original.MovesBase(s) {
			return ref
		}
		modern := modernKeyword(keyword, s)
		path = append(path, modern)
		changed = changed || modern != keyword
		v = s[keyword]
		if len(rest) == 0 || !a.Named() && tree.List(v) == nil {
			continue
		}
		name := tree.Unescape(rest[0]) // or an index
		rest = rest[1:]
		v = member(v, name)
		if alias, ok := m.aliases[name]; ok && keyword != "patternProperties" && a.Kind != tree.Definitions {
			name, changed = alias, true
		}
		path = append(path, name)
	}
	if !changed {
		return ref
	}
	return tree.Reference(path...)
}

// modernKeyword returns the name that a keyword of s has in 2020-12.
func modernKeyword(key string, s map[string]any) string {
	tuple := tree.List(s["items"]) != nil
	switch {
	case key == "items" && tuple:
		return "prefixItems"
	case key == "additionalItems" && tuple:
		return "items"
	case key == "dependencies":
		return "dependentSchemas"
	}
	return key
}

// member returns a member of an object, or an item of a list by its index.
func member(v any, name string) any {
	if named := tree.Object(v); named != nil {
		return named[name]
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(tree.List(v)) {
		return tree.List(v)[i]
	}
	return nil
}
