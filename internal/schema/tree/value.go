package tree

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Keys returns the names of an object in order.
func Keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// Object returns v if it is an object, else nil.
func Object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// List returns v if it is a list, else nil.
func List(v any) []any {
	l, _ := v.([]any)
	return l
}

// Text returns v if it is a string, else "".
func Text(v any) string {
	s, _ := v.(string)
	return s
}

// Strings returns the strings in v if it is a list, without its other items.
func Strings(v any) []string {
	var out []string
	for _, item := range List(v) {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Anys converts strings to values.
func Anys(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// Types returns the types that the type keyword of a subschema names.
func Types(s map[string]any) []string {
	if name, ok := s["type"].(string); ok {
		return []string{name}
	}
	return Strings(s["type"])
}

// IsObject reports whether the type keyword of a subschema allows only objects.
func IsObject(s map[string]any) bool { return slices.Equal(Types(s), []string{"object"}) }

// TypeOf returns the type of a value. 1.0 is an integer.
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

// Show returns a value as JSON.
func Show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// Constants returns the value of const, or else the values of enum, or else nil.
func Constants(s map[string]any) []any {
	if v, ok := s["const"]; ok {
		return []any{v}
	}
	return List(s["enum"])
}

// HasAny reports whether a subschema has at least one of the keywords.
func HasAny(s map[string]any, keywords []string) bool {
	return slices.ContainsFunc(keywords, func(key string) bool { _, ok := s[key]; return ok })
}

// HasOnly reports whether a subschema has no other keywords, except [Remarks].
func HasOnly(s map[string]any, keywords ...string) bool {
	for key := range s {
		if !slices.Contains(keywords, key) && !slices.Contains(Remarks, key) {
			return false
		}
	}
	return true
}

// Without returns a copy of a schema without the keywords.
func Without(s map[string]any, keywords ...string) map[string]any {
	out := maps.Clone(s)
	for _, key := range keywords {
		delete(out, key)
	}
	return out
}

// CopyKeys copies the members with these names from in to out.
func CopyKeys(out, in map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
}

// Nothing is a subschema that no value fits. It must not be changed.
var Nothing = map[string]any{"not": map[string]any{}}

// Never reports whether a subschema is false, or has a not that every value fits, so that obviously no value fits it.
func Never(v any) bool {
	if v == false {
		return true
	}
	not, ok := Object(v)["not"]
	m, isSchema := not.(map[string]any)
	return ok && (not == true || isSchema && len(m) == 0)
}

// Rest returns the subschema of properties that an object does not describe, and its keyword: additionalProperties, or
// else unevaluatedProperties, or else "".
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

// SetOf returns the set of the values.
func SetOf(all ...any) Set {
	out := make(Set, len(all))
	for _, v := range all {
		out[Identity(v)] = true
	}
	return out
}

// Has reports whether v is in the set.
func (s Set) Has(v any) bool { return s[Identity(v)] }

// Add adds v. It returns false if v was in the set before.
func (s Set) Add(v any) bool {
	known := s.Has(v)
	s[Identity(v)] = true
	return !known
}

// Rational returns the value of a number. It returns false for other values, and for numbers with a huge exponent.
func Rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

// NegativeLimits returns the keywords of a subschema that limit lengths and sizes by a negative number. They count as
// missing: .NET writes its attribute [MaxLength] without a number as maxLength -1.
func NegativeLimits(s map[string]any) (keywords []string) {
	for _, keyword := range limits {
		if n, ok := Rational(s[keyword]); ok && n.Sign() < 0 {
			keywords = append(keywords, keyword)
		}
	}
	return keywords
}

var limits = strings.Fields("minLength maxLength minItems maxItems minProperties maxProperties")

// Remarks are keywords without rules for values.
var Remarks = []string{
	"description", "title", "default", "examples", "example", "$schema", "$id", "id", "$comment", "deprecated", "readOnly",
	"writeOnly", "$anchor",
}

// composite identifies a list or an object by its text, and differs from a string with that text.
type composite string

// Identity returns a comparable value that is the same for equal values: 1 and 1.0 are equal.
func Identity(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case json.Number:
		return plainNumber(v)
	}
	encoded, err := json.Marshal(plainNumbers(v))
	if err != nil { // it came from JSON
		return nil
	}
	return composite(encoded)
}

// plainNumber writes equal numbers in the same way: digits without surrounding zeros, and an
// exponent. Its cost is proportional to the length of the text, whatever the exponent.
func plainNumber(n json.Number) json.Number {
	mantissa, power, scientific := strings.Cut(strings.ToLower(string(n)), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent, err := strconv.Atoi(power)
	if scientific && err != nil {
		return n
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short) - len(fraction)
	if negative {
		short = "-" + short
	}
	return json.Number(short + "e" + strconv.Itoa(exponent))
}

// plainNumbers copies a list or an object so that equal ones have the same JSON. Numbers and lists
// become lists with a marker, so that they differ from strings and from each other.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return []any{"number", string(plainNumber(v))}
	case []any:
		out := make([]any, 1, len(v)+1)
		out[0] = "list"
		for _, item := range v {
			out = append(out, plainNumbers(item))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[key] = plainNumbers(member)
		}
		return out
	}
	return v
}
