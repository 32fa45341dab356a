package rewrite

import (
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxCompared bounds how deeply alternatives are compared, because required properties can refer to themselves.
const maxCompared = 16

// compareSteps are the steps of a comparison without those for its lists.
const compareSteps = 8

// oneOfEffect returns the effect of writing a oneOf as an anyOf: Same if no value matches two of the alternatives, as
// far as that is known within the steps.
func oneOfEffect(doc *tree.Document, branches []map[string]any) profile.Effect {
	for i, a := range branches {
		for _, b := range branches[i+1:] {
			if !disjoint(doc, a, b, maxCompared) {
				return profile.Wider
			}
		}
	}
	return profile.Same
}

// disjoint reports whether types, enumerated values and required properties show that no value
// matches both subschemas. It compares at most depth levels, and returns false if the steps are used up.
func disjoint(doc *tree.Document, a, b map[string]any, depth int) bool {
	valuesA, valuesB := tree.Constants(a), tree.Constants(b)
	typesA, typesB := tree.Types(a), tree.Types(b)
	required := tree.Strings(a["required"])
	steps := compareSteps + len(required) + len(tree.List(b["required"])) + len(valuesA) + len(valuesB) + len(typesA)*len(typesB)
	if depth == 0 || !doc.Spend(steps) {
		return false
	}
	if len(typesA) > 0 && len(typesB) > 0 && len(commonTypes(typesA, typesB)) == 0 {
		return true
	}
	if valuesA != nil && valuesB != nil {
		inB := tree.SetOf(valuesB...)
		return !slices.ContainsFunc(valuesA, inB.Has)
	}
	if !tree.IsObject(a) || !tree.IsObject(b) {
		return false
	}
	requiredByB := tree.SetOf(tree.List(b["required"])...)
	if refusesAny(b, required) || refusesAny(a, tree.Strings(b["required"])) {
		return true
	}
	return slices.ContainsFunc(required, func(name string) bool {
		p, q := tree.Object(a["properties"])[name], tree.Object(b["properties"])[name]
		return requiredByB.Has(name) && p != nil && q != nil && disjoint(doc, doc.Plain(p), doc.Plain(q), depth-1)
	})
}

// refusesAny reports whether an object must not have a property with one of the names.
func refusesAny(s map[string]any, names []string) bool {
	if s["additionalProperties"] != false || s["patternProperties"] != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		_, described := tree.Object(s["properties"])[name]
		return !described
	})
}
