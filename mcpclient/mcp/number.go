package mcp

import (
	"encoding/json"
	"math"
	"math/big"
)

// floatOf reads a number, which may be in a string, nil for anything else.
func floatOf(raw []byte) *float64 {
	n, err := numberOf(raw).Float64()
	if err != nil {
		return nil
	}
	return &n
}

// wholeOf reads a whole number in any notation, which may be in a string. It returns nil for
// anything else, for a number beyond an int64, and for one of more than maxNumberText bytes that is
// written with a fraction or an exponent.
func wholeOf(raw []byte) *int64 {
	text := numberOf(raw)
	if n, err := text.Int64(); err == nil {
		return &n
	}
	// 12.0 and 1e3. The float bounds the exponent, which alone can ask for a great deal of memory.
	if x, err := text.Float64(); err != nil || x != math.Trunc(x) || len(text) > maxNumberText {
		return nil
	}
	if n, ok := new(big.Rat).SetString(text.String()); ok && n.IsInt() && n.Num().IsInt64() {
		return new(n.Num().Int64())
	}
	return nil
}

// maxNumberText bounds the text of a number, in bytes.
const maxNumberText = 64

// numberOf returns the text of a number, which may be in a string, "" for anything else.
func numberOf(raw []byte) (n json.Number) {
	if json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n
}
