package rewrite

import (
	"encoding/json"
	"strconv"
	"strings"
)

// set is a set of JSON values.
type set map[any]struct{}

// composite is the text of a list or an object, as a key beside that of strings.
type composite string

// Identity is comparable, and equal for values that are equal: numbers are so by
// their value.
func Identity(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case json.Number:
		return plainNumber(v)
	}
	return composite(show(plainNumbers(v)))
}

// plainNumber spells numbers of one value in one way: digits without zeros around
// them, and an exponent. It costs no more than the text is long, whatever the
// exponent.
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

// plainNumbers copies a list or an object, with its numbers as text that spells
// them in one way and that no text in it equals.
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

func setOf(all []any) set {
	out := make(set, len(all))
	for _, v := range all {
		out.add(v)
	}
	return out
}

// add reports whether v was not in the set yet.
func (s set) add(v any) bool {
	key := Identity(v)
	if _, ok := s[key]; ok {
		return false
	}
	s[key] = struct{}{}
	return true
}

func (s set) has(v any) bool {
	_, ok := s[Identity(v)]
	return ok
}

// union lists the values of both lists, each once.
func union(a, b []any) []any {
	seen := make(set, len(a)+len(b))
	out := make([]any, 0, len(a)+len(b))
	for _, all := range [][]any{a, b} {
		for _, v := range all {
			if seen.add(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// intersection lists the values of a that are in b.
func intersection(a, b []any) []any {
	var out []any
	there := setOf(b)
	for _, v := range a {
		if there.has(v) {
			out = append(out, v)
		}
	}
	return out
}

// weight is what a list of values costs to be looked through, in steps.
func weight(all []any) int {
	steps := len(all)
	for _, v := range all {
		switch v := v.(type) {
		case string:
			steps += len(v) / 64
		case []any:
			steps += weight(v)
		case map[string]any:
			for _, member := range v {
				steps += weight([]any{member})
			}
		}
	}
	return steps
}
