package tree

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
)

// Keys lists the names of an object in order.
func Keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// Object is a value that is an object, nil otherwise.
func Object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// List is a value that is a list, nil otherwise.
func List(v any) []any {
	l, _ := v.([]any)
	return l
}

// Text is a value that is a text, "" otherwise.
func Text(v any) string {
	s, _ := v.(string)
	return s
}

// Strings lists the strings of a list.
func Strings(v any) []string {
	var out []string
	for _, item := range List(v) {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Anys makes values of names.
func Anys(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// Types lists what the type keyword names.
func Types(s map[string]any) []string {
	if name, ok := s["type"].(string); ok {
		return []string{name}
	}
	return Strings(s["type"])
}

// IsObject reports whether all values of a subschema are objects.
func IsObject(s map[string]any) bool { return slices.Equal(Types(s), []string{"object"}) }

// TypeOf names the type of a value. A number is an integer by its value.
func TypeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if n, ok := Rational(v); ok && n.IsInt() {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// Show writes a value as JSON.
func Show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// Constants lists the values that a subschema enumerates, nil if it does not.
func Constants(s map[string]any) []any {
	if v, ok := s["const"]; ok {
		return []any{v}
	}
	return List(s["enum"])
}

// HasAny reports whether a subschema has one of some keywords.
func HasAny(s map[string]any, keywords []string) bool {
	return slices.ContainsFunc(keywords, func(key string) bool { _, ok := s[key]; return ok })
}

// HasOnly reports whether a subschema has no keywords but some, and such as demand Nothing.
func HasOnly(s map[string]any, keywords ...string) bool {
	for key := range s {
		if !slices.Contains(keywords, key) && !slices.Contains(Remarks, key) {
			return false
		}
	}
	return true
}

// Without copies a schema without some keywords.
func Without(s map[string]any, keywords ...string) map[string]any {
	out := maps.Clone(s)
	for _, key := range keywords {
		delete(out, key)
	}
	return out
}

// CopyKeys copies the members of some names that are there.
func CopyKeys(out, in map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
}

// Nothing is a subschema that no value fits.
var Nothing = map[string]any{"not": map[string]any{}}

// Never reports whether a subschema is one that no value fits, on its face.
func Never(v any) bool {
	if v == false {
		return true
	}
	not, ok := Object(v)["not"]
	m, isSchema := not.(map[string]any)
	return ok && (not == true || isSchema && len(m) == 0)
}

// Rest is the subschema of the properties that an object does not describe, and the
// keyword that has it.
func Rest(s map[string]any) (v any, keyword string) {
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if v, ok := s[key]; ok {
			return v, key
		}
	}
	return nil, ""
}

// Set is a set of JSON values.
type Set map[any]bool

// SetOf is the set of some values.
func SetOf(all ...any) Set {
	out := make(Set, len(all))
	for _, v := range all {
		out[Identity(v)] = true
	}
	return out
}

// Has reports whether v is in the set.
func (s Set) Has(v any) bool { return s[Identity(v)] }

// Add reports whether v was not in the set yet.
func (s Set) Add(v any) bool {
	there := s.Has(v)
	s[Identity(v)] = true
	return !there
}

// Rational is a value that is a number, unless its exponent is huge.
func Rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}
