package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// MaxDepth bounds the nesting of arrays and objects, in a schema and in a value.
const MaxDepth = 64

// Numbers are compared exactly. That takes memory in proportion to their
// digits, written or implied; numbers beyond these bounds are refused.
const (
	maxDigits   = 1000
	maxExponent = 1000
)

// Decode reads one JSON value, numbers as [json.Number]. The last of duplicate keys wins. Values
// that nest deeper than MaxDepth and numbers with more than 1,000 digits or an exponent beyond 1,000 are errors.
func Decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("not valid JSON: it ends too early")
		}
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not valid JSON: more text after the value, at byte %d", dec.InputOffset())
	}
	if err := Check(v); err != nil {
		return nil, err
	}
	return v, nil
}

// Check returns an error if v, a decoded JSON value, is beyond the bounds of [Decode].
func Check(v any) error { return checkValue(v, MaxDepth) }

// checkValue checks a value that may be nested to this depth.
func checkValue(v any, depth int) error {
	var parts iter.Seq[any]
	switch v := v.(type) {
	case json.Number:
		return checkNumber(string(v))
	case []any:
		parts = slices.Values(v)
	case map[string]any:
		parts = maps.Values(v)
	default:
		return nil
	}
	if depth == 0 {
		return fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	for part := range parts {
		if err := checkValue(part, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// checkNumber bounds the digits and the exponent of a number.
func checkNumber(text string) error {
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if len(mantissa) > maxDigits {
		return fmt.Errorf("number of %d digits, want at most %d", len(mantissa), maxDigits)
	}
	if !found {
		return nil
	}
	if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
		return fmt.Errorf("number %s: want an exponent between -%d and %d", excerpt.CutAt(text, 40), maxExponent, maxExponent)
	}
	return nil
}
