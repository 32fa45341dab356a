package rewrite

import (
	"encoding/json"
	"math/big"
	"slices"
	"unicode/utf8"
)

// scalars is what a subschema says of enumerated values besides.
type scalars struct {
	s       map[string]any
	types   []string
	enum    set // nil: any
	not     set // nil: any
	doc     *Document
	pattern string // "": any
}

// demandsOn reads what a subschema says of the values that it enumerates.
func (d *Document) demandsOn(s map[string]any) *scalars {
	said := &scalars{s: s, types: types(s), doc: d, pattern: text(s["pattern"])}
	if _, ok := s["const"]; ok && s["enum"] != nil {
		said.enum = setOf(list(s["enum"]))
	}
	if not := constants(object(s["not"])); not != nil && len(object(s["not"])) == 1 {
		said.not = setOf(not)
	}
	return said
}

// among lists the values that meet them.
func (d *scalars) among(values []any) []any {
	return slices.DeleteFunc(slices.Clone(values), func(v any) bool { return !d.meet(v) })
}

// meet reports whether an enumerated value meets them.
func (d *scalars) meet(v any) bool {
	if len(d.types) > 0 && !isOf(v, d.types) {
		return false
	}
	if d.enum != nil && !d.enum.has(v) || d.not != nil && d.not.has(v) {
		return false
	}
	switch v := v.(type) {
	case string:
		length := big.NewRat(int64(utf8.RuneCountInString(v)), 1)
		return within(length, d.s["minLength"], d.s["maxLength"]) && d.matches(v)
	case json.Number:
		n, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return true
		}
		for _, key := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
			if limit, ok := rational(d.s[key]); ok && limit.Cmp(n) == 0 {
				return false
			}
		}
		if step, ok := rational(d.s["multipleOf"]); ok && step.Sign() > 0 && !new(big.Rat).Quo(n, step).IsInt() {
			return false
		}
		return within(n, d.s["minimum"], d.s["maximum"]) && within(n, d.s["exclusiveMinimum"], d.s["exclusiveMaximum"])
	}
	return true
}

// matches reports whether a text meets the pattern. One that cannot be told is left to
// validation.
func (d *scalars) matches(text string) bool {
	if d.pattern == "" {
		return true
	}
	matches, known := d.doc.Matches(d.pattern, text)
	return matches || !known
}

// isOf reports whether a value is of one of the types. A number is an integer by
// its value, however it is written.
func isOf(v any, types []string) bool {
	if n, ok := rational(v); ok {
		return slices.Contains(types, "number") || n.IsInt() && slices.Contains(types, "integer")
	}
	return slices.Contains(types, typeOf(v))
}

// within reports whether n is between two limits, of which any may be missing.
func within(n *big.Rat, low, high any) bool {
	if limit, ok := rational(low); ok && n.Cmp(limit) < 0 {
		return false
	}
	limit, ok := rational(high)
	return !ok || n.Cmp(limit) <= 0
}

func rational(v any) (*big.Rat, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(string(number))
}

// extreme is the larger of two numbers, or the smaller one when sign is -1.
func extreme(a, b any, sign int) (any, bool) {
	x, okA := rational(a)
	y, okB := rational(b)
	switch {
	case !okA || !okB:
		return nil, false
	case x.Cmp(y)*sign >= 0:
		return a, true
	}
	return b, true
}
