package adapter

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// branch repairs v by the alternative that it was most likely meant for: the
// first one that it fits, or else the first one that it fits after a repair, or
// else the one whose constants it has.
func (r *repair) branch(branches []any, v any) any {
	for _, b := range branches {
		if r.fits(b, v) {
			return r.value(b, v)
		}
	}
	for _, b := range branches {
		if w := r.value(b, v); r.fits(b, w) {
			return w
		}
	}
	for _, b := range branches {
		if sub := r.resolve(b); sub != nil && fitsAny(typesOf(sub), v) && r.hasConstants(sub, v) {
			return r.value(sub, v)
		}
	}
	return v
}

// fits reports whether v has the shape that the subschema s describes: types,
// enumerated values, patterns, and which properties there are. It tells
// alternatives apart; whether v is valid is for the validator to say.
func (r *repair) fits(s, v any) bool {
	if r.left--; r.left < 0 || s == false {
		return false
	}
	sub := r.resolve(s)
	if sub == nil {
		return true
	}
	for _, part := range list(sub["allOf"]) {
		if !r.fits(part, v) {
			return false
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		branches := list(sub[keyword])
		if len(branches) > 0 && !slices.ContainsFunc(branches, func(b any) bool { return r.fits(b, v) }) {
			return false
		}
	}
	if !fitsAny(typeNames(sub["type"]), v) || !isAmong(sub, v) {
		return false
	}
	switch v := v.(type) {
	case string:
		return r.fitsText(sub, v)
	case map[string]any:
		return r.fitsObject(sub, v)
	case []any:
		for i, item := range v {
			if !r.fits(itemOf(sub, i), item) {
				return false
			}
		}
	}
	return true
}

func (r *repair) fitsObject(sub, v map[string]any) bool {
	for _, name := range stringList(sub["required"]) {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	properties, _ := sub["properties"].(map[string]any)
	_, patterns := sub["patternProperties"]
	for name, member := range v {
		property, ok := properties[name]
		if !ok && !patterns {
			property = sub["additionalProperties"]
		}
		if property != nil && !r.fits(property, member) {
			return false
		}
	}
	return true
}

// fitsText reports whether a text has the pattern and the length that sub demands.
func (r *repair) fitsText(sub map[string]any, text string) bool {
	length := utf8.RuneCountInString(text)
	if least, err := strconv.Atoi(digits(sub["minLength"])); err == nil && length < least {
		return false
	}
	if most, err := strconv.Atoi(digits(sub["maxLength"])); err == nil && length > most {
		return false
	}
	pattern, ok := sub["pattern"].(string)
	if !ok {
		return true
	}
	matches, known := r.matches(pattern, text)
	return matches || !known
}

// matches reports whether a text matches a pattern. That is not known of patterns
// of another language, which are left to the validator, and of what would take
// too long.
func (r *repair) matches(pattern, text string) (matches, known bool) {
	if !r.spend(1 + len(text)/64) {
		return false, false
	}
	compiled, known := r.patterns[pattern]
	if !known {
		compiled, _ = regexp.Compile(pattern)
		if r.patterns == nil {
			r.patterns = map[string]*regexp.Regexp{}
		}
		r.patterns[pattern] = compiled
	}
	return compiled != nil && compiled.MatchString(text), compiled != nil
}

func digits(v any) string {
	n, _ := v.(json.Number)
	return string(n)
}

// isAmong reports whether v is a value that sub enumerates, if it does.
func isAmong(sub map[string]any, v any) bool {
	values := list(sub["enum"])
	if c, ok := sub["const"]; ok {
		values = []any{c}
	}
	return values == nil || slices.ContainsFunc(values, func(w any) bool { return reflect.DeepEqual(v, w) })
}

// hasConstants reports whether v has the constant properties that sub demands,
// which is how alternatives that are objects are told apart.
func (r *repair) hasConstants(sub map[string]any, v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		return true
	}
	properties, _ := sub["properties"].(map[string]any)
	for name, property := range properties {
		want, ok := constant(r.resolve(property))
		if got, present := object[name]; ok && present && got != want {
			return false
		}
	}
	return true
}

// constant is the only value that a subschema allows, when that is a string.
func constant(sub map[string]any) (string, bool) {
	if text, ok := sub["const"].(string); ok {
		return text, true
	}
	if values := list(sub["enum"]); len(values) == 1 {
		text, ok := values[0].(string)
		return text, ok
	}
	return "", false
}
