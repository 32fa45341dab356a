package tree

import (
	"encoding/json"
	"strconv"
	"strings"
)

// composite is the text of a list or an object, as a key beside that of strings.
type composite string

// Identity is comparable, and equal for equal values: 1 and 1.0 are equal.
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
