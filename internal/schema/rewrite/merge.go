package rewrite

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// merge returns one subschema for two that both apply, and lists the keywords that are lost, because no single value of
// them expresses both. Of two annotations or formats, and of a keyword that is not known, the one in a is kept.
func merge(a, b map[string]any) (out map[string]any, lost []string) {
	out = map[string]any{}
	maps.Copy(out, a)
	ordered := tree.HasAny(a, itemKeywords) && tree.HasAny(b, itemKeywords) && (a["prefixItems"] != nil || b["prefixItems"] != nil)
	for _, key := range tree.Keys(b) {
		old, both := a[key]
		switch {
		case key == "additionalProperties", key == "unevaluatedProperties":
		case (key == "then" || key == "else") && a["if"] != nil && !reflect.DeepEqual(a["if"], b["if"]): // lost with its if
		case ordered && slices.Contains(itemKeywords, key):
			lost = append(lost, key)
		case !both:
			out[key] = b[key]
		case slices.Contains(tree.Remarks, key), key == "format", reflect.DeepEqual(old, b[key]):
		default:
			merged, ok := mergeValues(key, old, b[key])
			switch {
			case ok:
				out[key] = merged
			case slices.Contains(singular, key):
				lost = append(lost, key)
			}
		}
	}
	return out, append(lost, closeMerged(out, a, b)...)
}

// itemKeywords are the keywords about items. Beside prefixItems, two subschemas with such keywords cannot be merged.
var itemKeywords = []string{"prefixItems", "items", "contains"}

// singular are the keywords whose two values may be impossible to merge.
var singular = []string{"type", "enum", "const", "pattern", "multipleOf", "anyOf", "oneOf", "not", "if"}

// bounds specifies which of two bounds is tighter: the larger one for 1, the smaller one for -1.
var bounds = map[string]int{
	"minimum": 1, "exclusiveMinimum": 1, "minLength": 1, "minItems": 1, "minProperties": 1, "minContains": 1,
	"maximum": -1, "exclusiveMaximum": -1, "maxLength": -1, "maxItems": -1, "maxProperties": -1, "maxContains": -1,
}

// mergeValues returns one value for two of a keyword. It returns false if no value means both.
func mergeValues(key string, a, b any) (any, bool) {
	if sign := bounds[key]; sign != 0 {
		x, okA := tree.Rational(a)
		y, okB := tree.Rational(b)
		if okA && okB && y.Cmp(x)*sign > 0 {
			a = b
		}
		return a, okA && okB
	}
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		return mergeMaps(tree.Object(a), tree.Object(b), allOf), true
	case "dependentRequired":
		return mergeMaps(tree.Object(a), tree.Object(b), func(a, b any) any { return union(tree.List(a), tree.List(b)) }), true
	case "$defs", "definitions":
		return mergeMaps(tree.Object(a), tree.Object(b), func(a, _ any) any { return a }), true
	case "required":
		return union(tree.List(a), tree.List(b)), true
	case "uniqueItems":
		return a == true || b == true, true
	case "items", "propertyNames", "then", "else":
		return allOf(a, b), true
	case "allOf":
		return slices.Concat(tree.List(a), tree.List(b)), true
	case "const":
		return a, tree.Identity(a) == tree.Identity(b)
	case "enum":
		common := slices.Clone(tree.List(a))
		inB := tree.SetOf(tree.List(b)...)
		common = slices.DeleteFunc(common, func(v any) bool { return !inB.Has(v) })
		return common, len(common) > 0
	case "type":
		common := commonTypes(tree.Types(map[string]any{key: a}), tree.Types(map[string]any{key: b}))
		return tree.Anys(common), len(common) > 0
	}
	return nil, false
}

// commonTypes lists the types that are in both lists. Every integer is a number.
func commonTypes(a, b []string) []string {
	var out []string
	for _, name := range a {
		switch {
		case slices.Contains(b, name), name == "integer" && slices.Contains(b, "number"):
			out = append(out, name)
		case name == "number" && slices.Contains(b, "integer"):
			out = append(out, "integer")
		}
	}
	return out
}

// union lists the values that are in one of the lists, each once.
func union(a, b []any) []any {
	seen := tree.Set{}
	return slices.DeleteFunc(slices.Concat(a, b), func(v any) bool { return !seen.Add(v) })
}

// distinct lists the values of a list, each once.
func distinct(all []any) []any { return union(all, nil) }

// allOf returns a subschema for values that match both a and b.
func allOf(a, b any) any {
	switch {
	case reflect.DeepEqual(a, b), a == false, b == true:
		return a
	case b == false, a == true:
		return b
	}
	return map[string]any{"allOf": []any{a, b}}
}

// mergeMaps merges two maps. For a key in both, join merges the values.
func mergeMaps(a, b map[string]any, join func(a, b any) any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, a)
	for key, v := range b {
		if old, ok := a[key]; ok {
			v = join(old, v)
		}
		out[key] = v
	}
	return out
}

// closeMerged sets the rules of a and b for further properties in out. A rule is lost if it applies to a property that only
// the other one describes.
func closeMerged(out, a, b map[string]any) (lost []string) {
	var rules []any
	for _, side := range []map[string]any{a, b} {
		rest, key := tree.Rest(side)
		if key == "" {
			continue
		}
		rules = append(rules, rest)
		isOthers := func(name string) bool { return tree.Object(side["properties"])[name] == nil }
		if rest != true && slices.ContainsFunc(tree.Keys(tree.Object(out["properties"])), isOthers) {
			lost = []string{key}
		}
	}
	if len(rules) > 0 {
		delete(out, "unevaluatedProperties")
		out["additionalProperties"] = allOf(rules[0], rules[len(rules)-1])
	}
	return lost
}

// scalarKeywords are the keywords that can be checked for each enumerated value by itself.
var scalarKeywords = []string{
	"type", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
}

// satisfyingValues lists the enumerated values that the scalarKeywords of s allow.
func satisfyingValues(s map[string]any) []any {
	values := slices.Clone(tree.Constants(s))
	if enum := tree.List(s["enum"]); enum != nil && s["const"] != nil {
		inEnum := tree.SetOf(enum...)
		values = slices.DeleteFunc(values, func(v any) bool { return !inEnum.Has(v) })
	}
	demands := map[string]any{}
	tree.CopyKeys(demands, s, scalarKeywords...)
	if len(demands) == 0 || tree.HasOnly(demands, "type") {
		all := tree.Types(s)
		return slices.DeleteFunc(values, func(v any) bool {
			kind := tree.TypeOf(v)
			return len(all) > 0 && !slices.Contains(all, kind) && (kind != "integer" || !slices.Contains(all, "number"))
		})
	}
	raw, err := json.Marshal(demands)
	if err != nil {
		return values
	}
	compiled, err := schema.Compile(raw)
	if err != nil {
		return values
	}
	return slices.DeleteFunc(values, func(v any) bool { return compiled.ValidateValue(v) != nil })
}

// mergeCost returns the cost of merging a subschema, in steps.
func mergeCost(s map[string]any) int {
	lists := len(tree.List(s["required"])) + len(tree.List(s["enum"])) + len(tree.List(s["allOf"]))
	return 1 + len(s) + len(tree.Object(s["properties"])) + lists
}

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
