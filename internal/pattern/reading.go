package pattern

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// What takes as long as so many instructions do.
const (
	ofNamedClass  = 25    // \pL and its like, which have more than a thousand runes
	ofFoldedRange = 2_000 // a range whose runes are folded one by one
)

// folds finds the flag by which case does not matter.
var folds = regexp.MustCompile(`\(\?[a-zA-Z]*i`)

// reading is what it takes at most to read a pattern: each byte stands for
// something, and some stand for much.
func reading(expr string) int {
	n := len(expr) + ofNamedClass*(strings.Count(expr, `\p`)+strings.Count(expr, `\P`))
	if n <= MaxSize && folds.MatchString(expr) {
		n += ofFoldedRange * wideRanges(expr)
	}
	return n
}

// wideRanges counts what may be ranges that end beyond ASCII.
func wideRanges(expr string) int {
	n := 0
	for i := range len(expr) - 1 {
		if expr[i] == '-' && (expr[i+1] == '\\' || expr[i+1] >= utf8.RuneSelf) {
			n++
		}
	}
	return n
}
