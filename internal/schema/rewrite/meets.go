package rewrite

import (
	"encoding/json"
	"math/big"
	"regexp"
	"unicode/utf8"
)

// meets reports whether an enumerated value meets what else its subschema says
// of scalars.
func meets(v any, s map[string]any) bool {
	if all := types(s); len(all) > 0 && len(commonTypes([]string{typeOf(v)}, all)) == 0 {
		return false
	}
	if values := list(s["enum"]); values != nil && !has(values, v) {
		return false
	}
	switch v := v.(type) {
	case string:
		length := big.NewRat(int64(utf8.RuneCountInString(v)), 1)
		pattern, err := regexp.Compile(text(s["pattern"]))
		return within(length, s["minLength"], s["maxLength"]) && (err != nil || pattern.MatchString(v))
	case json.Number:
		n, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return true
		}
		for _, key := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
			if limit, ok := rational(s[key]); ok && limit.Cmp(n) == 0 {
				return false
			}
		}
		return within(n, s["minimum"], s["maximum"]) && within(n, s["exclusiveMinimum"], s["exclusiveMaximum"])
	}
	return true
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
