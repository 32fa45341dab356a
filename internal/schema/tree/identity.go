package tree

import (
	"encoding/json"
	"strconv"
	"strings"
)

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
