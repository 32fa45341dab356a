package rewrite

import (
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxCompared bounds how deeply alternatives are compared, because required properties can refer to
// themselves.
const maxCompared = 16

// exclusive lists for each alternative of a oneOf the properties that it must not have, so that a
// value matches only one alternative of an anyOf. It assumes that objects are written without
// further properties. It returns false if a value could still match two alternatives.
func exclusive(doc *tree.Document, branches []map[string]any) (lacks [][]string, effect profile.Effect, ok bool) {
	lacks, effect = make([][]string, len(branches)), profile.Same
	for i, a := range branches {
		for j, b := range branches[i+1:] {
			j += i + 1
			if disjoint(doc, a, b, maxCompared) {
				continue
			}
			more, less := difference(b, a), difference(a, b)
			if !tree.IsObject(a) || !tree.IsObject(b) || len(more) == 0 || len(less) == 0 {
				return nil, profile.Wider, false
			}
			if !doc.Spend(mergeCost(a) + mergeCost(b) + len(lacks[i]) + len(lacks[j])) {
				return nil, profile.Wider, false
			}
			lacks[i], lacks[j] = append(lacks[i], more[0]), append(lacks[j], less[0])
			if len(more)*len(less) > 1 || !reflect.DeepEqual(besideRequired(a), besideRequired(b)) {
				effect = profile.Narrower
			}
		}
	}
	return lacks, effect, true
}

// difference lists the names that a requires and b does not.
func difference(a, b map[string]any) []string {
	there := tree.SetOf(tree.List(b["required"])...)
	return slices.DeleteFunc(tree.Strings(a["required"]), func(name string) bool { return there.Has(name) })
}

func besideRequired(s map[string]any) map[string]any {
	return tree.Without(s, "required", "title", "description")
}

// disjoint reports whether types, enumerated values and required properties show that no value
// matches both subschemas.
func disjoint(doc *tree.Document, a, b map[string]any, depth int) bool {
	valuesA, valuesB := tree.Constants(a), tree.Constants(b)
	typesA, typesB := tree.Types(a), tree.Types(b)
	required := tree.Strings(a["required"])
	steps := 8 + len(required) + len(tree.List(b["required"])) + len(valuesA) + len(valuesB) + len(typesA)*len(typesB)
	if depth == 0 || !doc.Spend(steps) {
		return false
	}
	if len(typesA) > 0 && len(typesB) > 0 && len(commonTypes(typesA, typesB)) == 0 {
		return true
	}
	if valuesA != nil && valuesB != nil {
		there := tree.SetOf(valuesB...)
		return !slices.ContainsFunc(valuesA, there.Has)
	}
	if !tree.IsObject(a) || !tree.IsObject(b) {
		return false
	}
	also := tree.SetOf(tree.List(b["required"])...)
	if refusesAny(b, required) || refusesAny(a, tree.Strings(b["required"])) {
		return true
	}
	return slices.ContainsFunc(required, func(name string) bool {
		p, q := tree.Object(a["properties"])[name], tree.Object(b["properties"])[name]
		return also.Has(name) && p != nil && q != nil && disjoint(doc, doc.Plain(p), doc.Plain(q), depth-1)
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

// lacking returns a schema of objects without the named properties.
func lacking(names []string) map[string]any {
	refused := make(map[string]any, len(names))
	for _, name := range names {
		refused[name] = false
	}
	return map[string]any{"properties": refused}
}
