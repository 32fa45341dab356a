package rewrite

import "slices"

// maxApart bounds how deeply alternatives are compared: required properties can
// refer back to where they stand.
const maxApart = 16

// disjoint reports whether no value can fit two of the alternatives. What would
// take too long to be told counts as not disjoint.
func (w *writer) disjoint(branches []any) bool {
	for i, a := range branches {
		for _, b := range branches[i+1:] {
			if !w.apart(w.doc.plain(a), w.doc.plain(b), maxApart) {
				return false
			}
		}
	}
	return true
}

// apart reports whether no value fits both, as far as types, constants and
// required properties with constants tell, down to a depth.
func (w *writer) apart(a, b map[string]any, depth int) bool {
	requiredA, requiredB := list(a["required"]), list(b["required"])
	valuesA, valuesB := constants(a), constants(b)
	if depth == 0 || !w.doc.Spend(8+len(requiredA)+len(requiredB)) {
		return false
	}
	typesA, typesB := types(a), types(b)
	if len(typesA) > 0 && len(typesB) > 0 && w.doc.Spend(len(typesA)*len(typesB)) && len(commonTypes(typesA, typesB)) == 0 {
		return true
	}
	if valuesA != nil && valuesB != nil && w.doc.Spend(weight(valuesA)+weight(valuesB)) && len(intersection(valuesA, valuesB)) == 0 {
		return true
	}
	if !slices.Equal(typesA, []string{"object"}) || !slices.Equal(typesB, []string{"object"}) {
		return false
	}
	propertiesA, propertiesB := object(a["properties"]), object(b["properties"])
	alsoRequired := setOf(requiredB)
	for _, name := range names(requiredA) {
		p, q := propertiesA[name], propertiesB[name]
		if p == nil || q == nil {
			if w.refuses(b, name) {
				return true
			}
			continue
		}
		if alsoRequired.has(name) && w.apart(w.doc.plain(p), w.doc.plain(q), depth-1) {
			return true
		}
	}
	for _, name := range names(requiredB) {
		if w.refuses(a, name) {
			return true
		}
	}
	return false
}

// refuses reports whether s allows no property of a name, because it describes
// all that it allows.
func (w *writer) refuses(s map[string]any, name string) bool {
	if _, described := object(s["properties"])[name]; described || s["additionalProperties"] != false {
		return false
	}
	for pattern := range object(s["patternProperties"]) {
		if matches, known := w.doc.Matches(pattern, name); matches || !known {
			return false
		}
	}
	return true
}

// constants lists the values that a subschema allows, nil when it does not list
// them.
func constants(s map[string]any) []any {
	if v, ok := s["const"]; ok {
		return []any{v}
	}
	return list(s["enum"])
}
