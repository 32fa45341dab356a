package tree

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// maxNesting bounds the nesting of subschemas in a propertyNames.
const maxNesting = 16

// Named reports whether a propertyNames allows a name. known is false if a keyword is too complex
// to tell.
func (d *Document) Named(says any, name string) (fits, known bool) {
	return d.named(says, name, maxNesting)
}

func (d *Document) named(says any, name string, depth int) (fits, known bool) {
	s := d.Plain(says)
	switch {
	case says == true, says == nil:
		return true, true
	case Never(says), s != nil && Never(s):
		return false, true
	case s == nil, depth == 0, !d.Spend(1 + len(s) + len(List(s["enum"]))):
		return false, false
	}
	known = true
	for _, key := range slices.Sorted(maps.Keys(s)) {
		fits, sure := d.demand(s, key, name, depth)
		if sure && !fits {
			return false, true
		}
		known = known && sure
	}
	return true, known
}

// demand reports whether a name fits one keyword of s.
func (d *Document) demand(s map[string]any, key, name string, depth int) (fits, known bool) {
	switch v := s[key]; key {
	case "type":
		return v == "string" || slices.Contains(List(v), any("string")), true
	case "const":
		return v == any(name), true
	case "enum":
		return slices.Contains(List(v), any(name)), true
	case "minLength", "maxLength":
		n, _ := v.(json.Number)
		limit, err := n.Int64()
		length := int64(utf8.RuneCountInString(name))
		return key == "minLength" && length >= limit || key == "maxLength" && length <= limit, err == nil
	case "pattern":
		return d.Matches(Text(v), name)
	case "not":
		fits, known = d.named(v, name, depth-1)
		return !fits, known
	case "allOf", "anyOf", "oneOf":
		return d.combined(key, List(v), name, depth-1)
	}
	return true, key == "format" || slices.Contains(Remarks, key) // formats are annotations
}

// combined reports whether a name fits an allOf, anyOf or oneOf.
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

// Remarks are keywords without rules for values.
var Remarks = []string{
	"description", "title", "default", "examples", "example", "$schema", "$id", "id", "$comment", "deprecated", "readOnly",
	"writeOnly", "$anchor",
}
