package mcp

import (
	"encoding/json"
	"math"
)

// stringsOf reads a list of strings, nil for anything else.
func stringsOf(raw []byte) (all []string) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// floatOf reads a number, which may be in a string, nil for anything else.
func floatOf(raw []byte) *float64 {
	n, err := numberOf(raw).Float64()
	if err != nil {
		return nil
	}
	return &n
}

// wholeOf reads a whole number in any notation, such as 12.0 and 1e3, which may be in a string. It returns nil for
// anything else, and for a number beyond an int64 or, with a fraction or an exponent, beyond 2^53.
func wholeOf(raw []byte) *int64 {
	text := numberOf(raw)
	if n, err := text.Int64(); err == nil {
		return &n
	}
	if x, err := text.Float64(); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return new(int64(x))
	}
	return nil
}

// numberOf returns the text of a number, which may be in a string, "" for anything else.
func numberOf(raw []byte) (n json.Number) {
	if json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n
}
