package rewrite

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// merge makes one subschema of two that hold together, and lists the keywords of b that
// have no place beside a. If both have an annotation, it is a's.
func merge(a, b map[string]any) (out map[string]any, lost []string) {
	out = maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	places := tree.Says(a, ofItems) && tree.Says(b, ofItems) && (tree.Says(a, byPlace) || tree.Says(b, byPlace))
	for _, key := range tree.Keys(b) {
		old, both := a[key]
		switch {
		case key == "additionalProperties", key == "unevaluatedProperties":
		case (key == "then" || key == "else") && a["if"] != nil: // lost with its if
		case places && slices.Contains(ofItems, key):
			lost = append(lost, key)
		case !both:
			out[key] = b[key]
		case slices.Contains(tree.Remarks, key), key == "format", reflect.DeepEqual(old, b[key]):
		default:
			merged, ok := together(key, old, b[key])
			switch {
			case ok:
				out[key] = merged
			case slices.Contains(single, key):
				lost = append(lost, key)
			}
		}
	}
	return out, append(lost, closeMerged(out, a, b)...)
}

// The keywords about items, and the ones among them that depend on places.
var (
	ofItems = []string{"prefixItems", "items", "unevaluatedItems", "contains"}
	byPlace = []string{"prefixItems", "unevaluatedItems"}
)

// single are the demands that a subschema makes once.
var single = []string{"type", "enum", "const", "pattern", "multipleOf", "anyOf", "oneOf", "not", "if"}

// The tighter of two bounds holds: the larger one for 1, the smaller one for -1.
var bounds = map[string]int{
	"minimum": 1, "exclusiveMinimum": 1, "minLength": 1, "minItems": 1, "minProperties": 1, "minContains": 1,
	"maximum": -1, "exclusiveMaximum": -1, "maxLength": -1, "maxItems": -1, "maxProperties": -1, "maxContains": -1,
}

// together makes one value of two of a keyword. It returns false if there is none.
func together(key string, a, b any) (any, bool) {
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
		return eachOf(tree.Object(a), tree.Object(b), allOf), true
	case "dependentRequired":
		return eachOf(tree.Object(a), tree.Object(b), func(a, b any) any { return union(tree.List(a), tree.List(b)) }), true
	case "$defs", "definitions":
		return eachOf(tree.Object(a), tree.Object(b), func(a, _ any) any { return a }), true
	case "required":
		return union(tree.List(a), tree.List(b)), true
	case "uniqueItems":
		return a == true || b == true, true
	case "items", "propertyNames":
		return allOf(a, b), true
	case "allOf":
		return slices.Concat(tree.List(a), tree.List(b)), true
	case "const":
		return a, tree.Identity(a) == tree.Identity(b)
	case "enum":
		common := slices.Clone(tree.List(a))
		there := tree.SetOf(tree.List(b)...)
		common = slices.DeleteFunc(common, func(v any) bool { return !there.Has(v) })
		return common, len(common) > 0
	case "type":
		common := commonTypes(tree.Types(map[string]any{key: a}), tree.Types(map[string]any{key: b}))
		return tree.Anys(common), len(common) > 0
	}
	return nil, false
}

// commonTypes lists the types of both lists: every integer is a number.
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

// union lists the values of both lists, each once.
func union(a, b []any) []any {
	seen := tree.Set{}
	return slices.DeleteFunc(slices.Concat(a, b), func(v any) bool { return !seen.Add(v) })
}

// allOf is what two subschemas demand together.
func allOf(a, b any) any {
	switch {
	case reflect.DeepEqual(a, b), a == false, b == true:
		return a
	case b == false, a == true:
		return b
	}
	return map[string]any{"allOf": []any{a, b}}
}

// eachOf merges two maps; join has the values that both have.
func eachOf(a, b map[string]any, join func(a, b any) any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range b {
		if old, ok := a[key]; ok {
			v = join(old, v)
		}
		out[key] = v
	}
	return out
}

// closeMerged holds the properties that only one of two subschemas describes to what the
// other says of further properties. With patterns of names that is lost.
func closeMerged(out, a, b map[string]any) (lost []string) {
	restA, keyA := tree.Rest(a)
	restB, keyB := tree.Rest(b)
	if keyA == "" && keyB == "" {
		return nil
	}
	properties := maps.Clone(tree.Object(out["properties"]))
	for name, p := range properties {
		for _, side := range []map[string]any{a, b} {
			says, key := tree.Rest(side)
			_, described := tree.Object(side["properties"])[name]
			switch {
			case described || key == "" || says == true:
			case side["patternProperties"] != nil:
				lost = []string{key}
			default:
				p = allOf(p, says)
			}
		}
		properties[name] = p
	}
	if properties != nil {
		out["properties"] = properties
	}
	delete(out, "unevaluatedProperties")
	switch {
	case keyA == "":
		out["additionalProperties"] = restB
	case keyB == "":
		out["additionalProperties"] = restA
	default:
		out["additionalProperties"] = allOf(restA, restB)
	}
	return lost
}

// ofScalars lists the keywords that enumerated values can be held to one by one.
var ofScalars = []string{
	"type", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
}

// fitting lists the enumerated values that meet what s says of them besides.
func fitting(s map[string]any) []any {
	values := slices.Clone(tree.Constants(s))
	if both := tree.List(s["enum"]); both != nil && s["const"] != nil {
		there := tree.SetOf(both...)
		values = slices.DeleteFunc(values, func(v any) bool { return !there.Has(v) })
	}
	demands := map[string]any{}
	tree.CopyKeys(demands, s, ofScalars...)
	if not := tree.Object(s["not"]); tree.Constants(not) != nil && tree.Only(not, "const", "enum") {
		refused := tree.SetOf(tree.Constants(not)...)
		values = slices.DeleteFunc(values, refused.Has)
	}
	if len(demands) == 0 || tree.Only(demands, "type") {
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

// breadth is what merging a subschema costs, in steps.
func breadth(s map[string]any) int {
	return 1 + len(s) + len(tree.Object(s["properties"])) + len(tree.List(s["required"])) + len(tree.List(s["enum"])) + len(tree.List(s["allOf"]))
}
