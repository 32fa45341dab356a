package tree

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// MaxPattern bounds the compiled size of a pattern, in approximate instructions of package regexp. The bounds of regexp are
// too large: a pattern of a few kB may take gigabytes, and seconds for a text of a kB.
const MaxPattern = 10_000

// Pattern is a compiled regular expression. It may be used concurrently.
type Pattern struct {
	*regexp.Regexp
	Size int // approximate number of instructions, at least 1
}

// Work is an upper bound for the cost of a match, in instructions times bytes: a few nanoseconds each.
func (p *Pattern) Work(text string) int {
	return int(min(int64(p.Size)*int64(1+len(text)), math.MaxInt))
}

// CompilePattern is [regexp.Compile] within [MaxPattern].
func CompilePattern(expr string) (*Pattern, error) {
	n, _, err := measure(expr)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &Pattern{re, n}, nil
}

// CheckPattern returns an error for a pattern in another syntax, or a too large one. It costs less than CompilePattern.
func CheckPattern(expr string) error {
	_, _, err := measure(expr)
	return err
}

// MaxPatterns bounds the size of all patterns of one document together, in the unit of [MaxPattern].
const MaxPatterns = 250_000

// PatternBudget bounds the patterns of one document. A pattern counts each time it is
// written. The zero value allows [MaxPatterns] instructions. It is for one goroutine at a time.
type PatternBudget struct{ spent int }

// Check returns the approximate size of a pattern in instructions. foreign is the error of
// [CheckPattern] for the pattern. If over is not nil, the budget is used up.
func (b *PatternBudget) Check(expr string) (size int, foreign, over error) {
	size, effort, err := measure(expr)
	if b.spent += effort; b.spent > MaxPatterns {
		b.spent = MaxPatterns
		return size, err, fmt.Errorf("patterns up to here compile to more than %d instructions together: "+
			"want fewer of them, or shorter repetitions", MaxPatterns)
	}
	return size, err, nil
}

// measure returns the approximate number of instructions of a pattern, and the
// cost to find it out, in the same unit. The cost is valid also with an error.
func measure(expr string) (instructions, effort int, err error) {
	effort = parseCost(expr)
	if effort > MaxPattern {
		return 0, 1, fmt.Errorf("pattern of %d bytes that takes about %d steps to be read, more than %d", len(expr), effort, MaxPattern)
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, effort, err
	}
	n := size(re)
	if n > MaxPattern {
		return 0, effort, fmt.Errorf("pattern that compiles to about %d instructions, more than %d", n, MaxPattern)
	}
	return n, max(n, effort), nil
}

// size is the approximate number of instructions of re. If it is over MaxPattern, the real number may be larger.
func size(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if n += size(sub); n > MaxPattern {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// Costs of parsing, in instructions.
const (
	namedClassCost  = 25    // \pL and similar classes have more than a thousand runes
	foldedRangeCost = 2_000 // a range whose runes are folded one by one
)

// foldFlag finds the flag for case-insensitive matching.
var foldFlag = regexp.MustCompile(`\(\?[a-zA-Z]*i`)

// parseCost returns an upper bound of the cost to parse a pattern, in instructions. Named classes and
// wide ranges cost more than other bytes.
func parseCost(expr string) int {
	n := len(expr) + namedClassCost*(strings.Count(expr, `\p`)+strings.Count(expr, `\P`))
	if n <= MaxPattern && foldFlag.MatchString(expr) {
		n += foldedRangeCost * wideRanges(expr)
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
