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

// Compile is [regexp.Compile] within [MaxSize].
func Compile(expr string) (*regexp.Regexp, error) {
	if err := Check(expr); err != nil {
		return nil, err
	}
	return regexp.Compile(expr)
}

// Check reports why a pattern is none: it is of another language, or too large. It
// takes less than to compile it.
func Check(expr string) error {
	if len(expr) > MaxSize { // each byte stands for something
		return fmt.Errorf("a pattern of %d bytes, more than %d", len(expr), MaxSize)
	}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return err
	}
	if n := size(re); n > MaxSize {
		return fmt.Errorf("a pattern that compiles to about %d instructions, more than %d", n, MaxSize)
	}
	return nil
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
