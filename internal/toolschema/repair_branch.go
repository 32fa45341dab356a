package toolschema

import (
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// branch repairs v by the likeliest alternative: the first that v fits, directly or as the value that its text spells; else
// the first that v fits after a repair; else the first of v's type whose constants v does not contradict.
func (r *repair) branch(branches []any, v any) any {
	for _, v := range r.meanings(v) {
		for _, b := range branches {
			if r.fits(b, v) {
				return r.value(b, v)
			}
		}
	}
	for _, b := range branches {
		if w := r.value(b, v); r.fits(b, w) {
			return w
		}
	}
	for _, b := range branches {
		if sub := r.resolve(b); sub != nil && fitsAny(allowedTypes(sub), v) && !r.contradictsConstants(sub, v) {
			return r.value(b, v)
		}
	}
	return v
}

// meanings returns v and, if v is a string that spells another value, that value.
func (r *repair) meanings(v any) []any {
	if text, ok := v.(string); ok {
		if spelled, ok := r.decode(text); ok {
			return []any{v, spelled}
		}
	}
	return []any{v}
}

// fits reports whether v has the shape of the subschema s: types, enumerated values, patterns and
// lengths of texts, and required and present properties. It distinguishes alternatives and does not
// validate. For null it also checks not, because null has no other shape. It returns true for a subschema that it cannot
// read, and false once too many subschemas were visited.
func (r *repair) fits(s, v any) bool {
	if s == false {
		return false
	}
	sub, ok := r.descend(s)
	if !ok {
		return r.left >= 0
	}
	defer r.ascend()
	if !fitsAny(tree.Types(sub), v) || !r.isAmong(sub, v) || !r.fitsApplied(sub, v) {
		return false
	}
	switch v := v.(type) {
	case nil:
		not, ok := sub["not"]
		return !ok || !r.fits(not, nil)
	case string:
		return r.fitsText(sub, v)
	case map[string]any:
		return r.fitsObject(sub, v)
	case []any:
		if !r.doc.Spend(len(v)) {
			return false
		}
		for i, item := range v {
			if s := itemSchema(sub, i); s != nil && !r.fits(s, item) {
				return false
			}
		}
	}
	return true
}

// fitsApplied reports whether v fits the subschemas that sub applies to the same value.
func (r *repair) fitsApplied(sub map[string]any, v any) bool {
	if target := r.target(sub); target != nil && !r.fits(target, v) {
		return false
	}
	for _, part := range tree.List(sub["allOf"]) {
		if !r.fits(part, v) {
			return false
		}
	}
	if branches := tree.List(sub["anyOf"]); len(branches) > 0 && r.countFitting(branches, v) == 0 {
		return false
	}
	if branches := tree.List(sub["oneOf"]); len(branches) > 0 && r.countFitting(branches, v) != 1 { // more than one is only counted for null
		return false
	}
	if condition, ok := sub["if"]; ok {
		if then, ok := sub[r.branchKeyword(condition, v)]; ok && !r.fits(then, v) {
			return false
		}
	}
	object, _ := v.(map[string]any)
	return !slices.ContainsFunc(r.dependents(sub, object), func(part any) bool { return !r.fits(part, v) })
}

// countFitting counts the alternatives that v fits. Except for null, it stops at one.
func (r *repair) countFitting(branches []any, v any) (n int) {
	for _, b := range branches {
		if !r.fits(b, v) {
			continue
		}
		n++
		if v != nil {
			break
		}
	}
	return n
}

// fitsObject reports whether an object has the required members, and members that fit.
func (r *repair) fitsObject(sub, v map[string]any) bool {
	for _, name := range tree.Strings(sub["required"]) {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	if !r.doc.Spend(len(v)) {
		return false
	}
	patterns := r.namePatterns(sub)
	for name, member := range v {
		for _, s := range r.rulesFor(sub, patterns, name) {
			if !r.fits(s, member) {
				return false
			}
		}
	}
	return true
}

// fitsText reports whether a text matches the pattern of sub and fits its bounds of the length.
func (r *repair) fitsText(sub map[string]any, text string) bool {
	length := big.NewRat(int64(utf8.RuneCountInString(text)), 1)
	if least, ok := tree.Rational(sub["minLength"]); ok && length.Cmp(least) < 0 {
		return false
	}
	if most, ok := tree.Rational(sub["maxLength"]); ok && length.Cmp(most) > 0 {
		return false
	}
	pattern, ok := sub["pattern"].(string)
	if !ok {
		return true
	}
	matches, known := r.doc.Matches(pattern, text)
	return matches || !known
}

// isAmong reports whether v is an enumerated value of sub, or sub has none.
func (r *repair) isAmong(sub map[string]any, v any) bool {
	values := tree.Constants(sub)
	return values == nil || slices.ContainsFunc(values, func(w any) bool { return r.same(v, w) })
}

// contradictsConstants reports whether a member of v differs from the text that sub demands of it.
// Constants distinguish alternatives.
func (r *repair) contradictsConstants(sub map[string]any, v any) bool {
	object, _ := v.(map[string]any)
	for name, property := range tree.Object(sub["properties"]) {
		want, ok := constant(r.resolve(property))
		if got, present := object[name]; ok && present && got != want {
			return true
		}
	}
	return false
}

// constant returns the only allowed value of a subschema, if that is a string.
func constant(sub map[string]any) (string, bool) {
	if values := tree.Constants(sub); len(values) == 1 {
		text, ok := values[0].(string)
		return text, ok
	}
	return "", false
}
