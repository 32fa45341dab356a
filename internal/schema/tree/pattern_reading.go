package tree

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Costs of reading, in instructions.
const (
	ofNamedClass  = 25    // \pL and similar classes have more than a thousand runes
	ofFoldedRange = 2_000 // a range whose runes are folded one by one
)

// folds finds the flag for case-insensitive matching.
var folds = regexp.MustCompile(`\(\?[a-zA-Z]*i`)

// reading returns an upper bound of the cost to parse a pattern, in instructions. Named classes and
// wide ranges cost more than other bytes.
func reading(expr string) int {
	n := len(expr) + ofNamedClass*(strings.Count(expr, `\p`)+strings.Count(expr, `\P`))
	if n <= MaxPattern && folds.MatchString(expr) {
		n += ofFoldedRange * wideRanges(expr)
	}
	return n
}

// wideRanges counts possible ranges that end beyond ASCII.
func wideRanges(expr string) int {
	n := 0
	for i := range len(expr) - 1 {
		if expr[i] == '-' && (expr[i+1] == '\\' || expr[i+1] >= utf8.RuneSelf) {
			n++
		}
	}
	return n
}
