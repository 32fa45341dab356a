package rewrite

import (
	"math/big"
	"slices"
	"unicode/utf8"
)

// readable reports whether a pattern is of the language that arguments are
// validated in.
func (d *Document) readable(expr string) bool { return d.compiled(expr) != nil }

// Aliased reports whether says, which is a propertyNames, allows a name and not its
// alias, so that there the alias stands for the name. A name of which that is not
// known counts as allowed.
func (d *Document) Aliased(says any, name, alias string) bool {
	fits, known := d.named(says, name, maxApart)
	also, sure := d.named(says, alias, maxApart)
	return (fits || !known) && !(also && sure)
}

// named reports whether a name fits what propertyNames says, down to a depth.
// That is not known of all that it can say.
func (d *Document) named(says any, name string, depth int) (fits, known bool) {
	s := d.plain(says)
	switch {
	case says == true, says == nil:
		return true, true
	case never(says):
		return false, true
	case s == nil, depth == 0, !d.Spend(breadth(s)):
		return false, false
	}
	known = true
	for _, key := range keys(s) {
		fits, sure := d.demand(s, key, name, depth)
		if sure && !fits {
			return false, true
		}
		known = known && sure
	}
	return true, known
}

// demand reports whether a name fits what one keyword of s demands of it.
func (d *Document) demand(s map[string]any, key, name string, depth int) (fits, known bool) {
	switch v := s[key]; key {
	case "type":
		return slices.Contains(types(s), "string"), true
	case "const", "enum":
		return slices.Contains(constants(map[string]any{key: v}), any(name)), true
	case "minLength", "maxLength":
		length := big.NewRat(int64(utf8.RuneCountInString(name)), 1)
		return within(length, s["minLength"], s["maxLength"]), true
	case "pattern":
		return d.Matches(text(v), name)
	case "not":
		fits, known = d.named(v, name, depth-1)
		return !fits, known
	case "allOf", "anyOf", "oneOf":
		return d.combined(key, list(v), name, depth-1)
	}
	return true, key == "format" || slices.Contains(remarks, key) // formats are annotations
}

// combined reports whether a name fits all, any or one of several subschemas.
func (d *Document) combined(key string, all []any, name string, depth int) (fits, known bool) {
	count, unknown := 0, 0
	for _, one := range all {
		switch fits, known := d.named(one, name, depth); {
		case !known:
			unknown++
		case fits:
			count++
		}
	}
	switch {
	case key == "allOf" && count+unknown < len(all), key == "oneOf" && count > 1:
		return false, true
	case key == "anyOf" && count > 0:
		return true, true
	case key == "allOf":
		return count == len(all), unknown == 0
	}
	return count > 0, unknown == 0
}
