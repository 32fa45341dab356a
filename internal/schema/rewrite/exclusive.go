package rewrite

import (
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxCompared bounds how deeply alternatives are compared, because required properties can refer to themselves.
const maxCompared = 16

// compareSteps are the steps of a comparison without those for its lists.
const compareSteps = 8

// excludedProperties lists for each alternative of a oneOf the properties that it must not have, so that a
// value matches only one alternative of an anyOf. It assumes that objects are written without
// further properties. effect is Narrower if a value that the oneOf allows may then match none. It returns false
// if a value could still match two alternatives, or if the steps are used up.
func excludedProperties(doc *tree.Document, branches []map[string]any) (excluded [][]string, effect profile.Effect, ok bool) {
	excluded, effect = make([][]string, len(branches)), profile.Same
	for i, a := range branches {
		for j, b := range branches[i+1:] {
			j += i + 1
			if disjoint(doc, a, b, maxCompared) {
				continue
			}
			onlyA, onlyB := requiredOnlyBy(a, b), requiredOnlyBy(b, a)
			if !tree.IsObject(a) || !tree.IsObject(b) || len(onlyA) == 0 || len(onlyB) == 0 {
				return nil, profile.Wider, false
			}
			if !doc.Spend(mergeCost(a) + mergeCost(b) + len(excluded[i]) + len(excluded[j])) {
				return nil, profile.Wider, false
			}
			excluded[i], excluded[j] = append(excluded[i], onlyB[0]), append(excluded[j], onlyA[0])
			if len(onlyA)*len(onlyB) > 1 || !reflect.DeepEqual(besideRequired(a), besideRequired(b)) {
				effect = profile.Narrower
			}
		}
	}
	return excluded, effect, true
}

// requiredOnlyBy lists the properties that a requires and b does not.
func requiredOnlyBy(a, b map[string]any) []string {
	requiredByB := tree.SetOf(tree.List(b["required"])...)
	return slices.DeleteFunc(tree.Strings(a["required"]), func(name string) bool { return requiredByB.Has(name) })
}

func besideRequired(s map[string]any) map[string]any {
	return tree.Without(s, "required", "title", "description")
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

// withoutProperties returns a schema of objects without the named properties.
func withoutProperties(names []string) map[string]any {
	refused := make(map[string]any, len(names))
	for _, name := range names {
		refused[name] = false
	}
	return map[string]any{"properties": refused}
}
