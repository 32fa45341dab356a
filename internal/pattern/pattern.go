// Package pattern compiles regular expressions that a peer wrote.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxSize bounds what a pattern compiles to, in about the instructions of package
// regexp, whose own bounds let a few kB of pattern take gigabytes, and seconds for
// each text of a kB.
const MaxSize = 10_000

// Pattern is a regular expression that was compiled. It may be used concurrently.
type Pattern struct {
	*regexp.Regexp
	Size int // about the instructions that it compiled to, at least 1
}

// Work is what it takes at most to match a text, in instructions and bytes: a few
// nanoseconds each.
func (p *Pattern) Work(text string) int { return p.Size * (1 + len(text)) }

// Compile is [regexp.Compile] within [MaxSize].
func Compile(expr string) (*Pattern, error) {
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

// Check reports why a pattern is none: it is of another language, or too large. It
// takes less than to compile it.
func Check(expr string) error {
	_, _, err := measure(expr)
	return err
}

// measure is about how many instructions a pattern compiles to, and what it takes to
// find that out, in the same measure, which is said of one that is none, too.
func measure(expr string) (instructions, effort int, err error) {
	effort = reading(expr)
	if effort > MaxSize {
		return 0, 1, fmt.Errorf("a pattern of %d bytes that takes about %d steps to be read, more than %d", len(expr), effort, MaxSize)
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, effort, err
	}
	n := size(re)
	if n > MaxSize {
		return 0, effort, fmt.Errorf("a pattern that compiles to about %d instructions, more than %d", n, MaxSize)
	}
	return n, max(n, effort), nil
}

// size is about how many instructions re compiles to. Once it is over MaxSize it
// may be less than that.
func size(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if n += size(sub); n > MaxSize {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
