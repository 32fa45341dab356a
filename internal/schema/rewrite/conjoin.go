package rewrite

import (
	"maps"
	"reflect"
	"slices"
)

// conjoin makes one subschema of two that hold together, and lists the keywords
// of b for which there is no room beside a. What says nothing about values is
// a's where both have it.
func conjoin(a, b map[string]any) (out map[string]any, lost []string) {
	out = maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	inOrder := says(a, ofItems) && says(b, ofItems) && (says(a, byPlace) || says(b, byPlace))
	if inOrder {
		sequence(out, a, b)
	}
	for _, key := range keys(b) {
		old, both := a[key]
		switch {
		case closes(key), conditional(key), inOrder && (key == "prefixItems" || key == "items" || key == "unevaluatedItems"):
		case !both:
			out[key] = b[key]
		case reflect.DeepEqual(old, b[key]), slices.Contains(remarks, key), key == "const" && Identity(old) == Identity(b[key]):
		default:
			merged, ok := together(key, old, b[key])
			if !ok {
				lost = append(lost, key)
				continue
			}
			out[key] = merged
		}
	}
	if _, ok := b["if"]; ok {
		if _, both := a["if"]; both {
			lost = append(lost, "if")
		} else {
			copyKeys(out, b, "if", "then", "else")
		}
	}
	return out, append(lost, closed(out, a, b)...)
}

// says reports whether a subschema has one of some keywords.
func says(s map[string]any, keywords []string) bool {
	return slices.ContainsFunc(keywords, func(key string) bool { _, ok := s[key]; return ok })
}

// remarks are keywords of which one is enough.
var remarks = []string{
	"description", "title", "default", "examples", "example", "$schema", "$id", "id", "$comment", "deprecated", "readOnly",
	"writeOnly", "$anchor",
}

func conditional(key string) bool { return key == "if" || key == "then" || key == "else" }

func closes(key string) bool { return key == "additionalProperties" || key == "unevaluatedProperties" }

// Two bounds of a kind become the tighter one.
var (
	lowerBounds = []string{"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"}
	upperBounds = []string{"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"}
)

// together is what two values of a keyword demand, as one value.
func together(key string, a, b any) (any, bool) {
	switch {
	case slices.Contains(lowerBounds, key):
		return extreme(a, b, 1)
	case slices.Contains(upperBounds, key):
		return extreme(a, b, -1)
	}
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		return eachOf(object(a), object(b), allOf), true
	case "$defs", "definitions":
		return eachOf(object(a), object(b), func(a, _ any) any { return a }), true
	case "required":
		return union(list(a), list(b)), true
	case "dependentRequired":
		return eachOf(object(a), object(b), func(a, b any) any { return union(list(a), list(b)) }), true
	case "uniqueItems":
		return a == true || b == true, true
	case "items", "propertyNames":
		return allOf(a, b), true
	case "not":
		return map[string]any{"anyOf": []any{a, b}}, true
	case "anyOf", "oneOf":
		return pairs(list(a), list(b))
	case "allOf":
		return append(slices.Clone(list(a)), list(b)...), true
	case "enum":
		common := intersection(list(a), list(b))
		return common, len(common) > 0
	case "type":
		common := commonTypes(types(map[string]any{key: a}), types(map[string]any{key: b}))
		if len(common) == 1 {
			return common[0], true
		}
		return anys(common), len(common) > 0
	}
	return nil, false
}

// maxPairs bounds the alternatives of two sets of them that hold together.
const maxPairs = 16

// pairs lists the alternatives of two sets that hold together: one of each.
func pairs(a, b []any) (any, bool) {
	if len(a)*len(b) > maxPairs {
		return nil, false
	}
	var out []any
	for _, x := range a {
		for _, y := range b {
			out = append(out, allOf(x, y))
		}
	}
	return out, true
}

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

// commonTypes lists the types that both lists allow: every integer is a number.
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

// closed writes what a and b say of the properties that they do not describe,
// each of its own: what is not described there must fit that.
func closed(out, a, b map[string]any) (lost []string) {
	restA, keyA := rest(a)
	restB, keyB := rest(b)
	if keyA == "" && keyB == "" {
		return nil
	}
	if a["patternProperties"] != nil || b["patternProperties"] != nil {
		if limits(restA) && describesMore(b, a) {
			lost = append(lost, keyA)
		}
		if limits(restB) && describesMore(a, b) {
			lost = append(lost, keyB)
		}
		writeRest(out, restA, restB)
		return slices.Compact(lost)
	}
	properties := maps.Clone(object(out["properties"]))
	for _, side := range []struct {
		rest any
		own  map[string]any
	}{{restA, object(a["properties"])}, {restB, object(b["properties"])}} {
		for name, p := range properties {
			switch _, described := side.own[name]; {
			case described || side.rest == nil || side.rest == true:
			case side.rest == false:
				delete(properties, name)
			default:
				properties[name] = allOf(side.rest, p)
			}
		}
	}
	if properties != nil {
		out["properties"] = properties
	}
	writeRest(out, restA, restB)
	return nil
}

// limits reports whether properties that are not described must meet something.
func limits(rest any) bool { return rest != nil && rest != true }

// describesMore reports whether s describes properties that other does not
// describe in the same words, so that to other they are further ones.
func describesMore(s, other map[string]any) bool {
	for _, key := range []string{"properties", "patternProperties"} {
		own, others := object(s[key]), object(other[key])
		for name := range own {
			if _, ok := others[name]; !ok {
				return true
			}
		}
	}
	return false
}

// writeRest writes what two subschemas say of the properties that neither of
// them describes.
func writeRest(out map[string]any, a, b any) {
	delete(out, "unevaluatedProperties")
	switch {
	case !limits(a) && b != nil:
		out["additionalProperties"] = b
	case !limits(b):
		out["additionalProperties"] = a
	case a == false || b == false:
		out["additionalProperties"] = false
	default:
		out["additionalProperties"] = allOf(a, b)
	}
}

// rest is what a subschema without parts says of the properties that it does not
// describe, and the keyword that says so.
func rest(s map[string]any) (v any, keyword string) {
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if v, ok := s[key]; ok {
			return v, key
		}
	}
	return nil, ""
}

// nothing is a subschema that no value fits.
var nothing = map[string]any{"not": map[string]any{}}

// never reports whether a subschema is one that no value fits, on its face.
func never(v any) bool {
	if v == false {
		return true
	}
	not, ok := object(v)["not"]
	m, isObject := not.(map[string]any)
	return ok && (not == true || isObject && len(m) == 0)
}

// unevaluated takes out of s what it says of what is not evaluated, which sees
// what alternatives and parts evaluate.
func unevaluated(s map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		copyKeys(out, s, key)
		delete(s, key)
	}
	return out
}

// beside conjoins an alternative with the subschema that has it.
func beside(branch, base map[string]any) (out map[string]any, lost []string) {
	base = maps.Clone(base)
	seen := unevaluated(base)
	out, lost = conjoin(branch, base)
	maps.Copy(out, seen)
	return out, lost
}
