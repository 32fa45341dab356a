package tree

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Common patterns are compiled.
func TestCompile(t *testing.T) {
	for _, expr := range []string{
		"", "^[a-z]+$", `^\d{4}-\d{2}-\d{2}$`, "(?i)yes|no", "^(?s:.{0,256})$", "[a-z]{1,1000}", "(a{10}){100}", `\p{L}{3,}`,
	} {
		got, err := CompilePattern(expr)
		check.That(t, err == nil && got.String() == regexp.MustCompile(expr).String(), "%q: got %v, %v", expr, got, err)
	}
}

// Patterns in another syntax and too large patterns are refused cheaply.
func TestCompileRefuses(t *testing.T) {
	for name, expr := range map[string]string{
		"lookahead":   `(?=a)`,
		"backlink":    `(a)\1`,
		"repetitions": strings.Repeat("a{0,1000}", 1000),
		"nested":      strings.Repeat("((a{0,10}){0,10}){0,10}", 50),
		"alternation": strings.Repeat("(ab|cd){1000}|", 20),
		"long":        strings.Repeat("a", MaxPattern+1),
	} {
		var err error
		n := check.Allocated(func() { _, err = CompilePattern(expr) })
		check.That(t, err != nil && n <= 4<<20, "%s: got %v and %d bytes allocated, want an error and less than 4 MiB", name, err, n)
	}
}

// The estimated size is not less than a third of the program's.
func TestSize(t *testing.T) {
	for _, expr := range []string{"abc", "a{3,7}", "(a|bc)*d?", "[a-z]{10,}", "(x{5}y){4}", "(?:a{0,9}){0,9}"} {
		check.Must(t, CheckPattern(expr))
		re, prog := parsed(t, expr)
		n := size(re)
		check.That(t, 3*n >= prog && n <= 3*prog, "%q: got %d, want about %d", expr, n, prog)
	}
}

// parsed is an expression, and the length of its compiled program.
func parsed(t *testing.T, expr string) (*syntax.Regexp, int) {
	t.Helper()
	re := check.Value(syntax.Parse(expr, syntax.Perl))(t)
	return re, len(check.Value(syntax.Compile(re.Simplify()))(t).Inst)
}

// An accepted pattern compiles to about the estimated size, never to much more.
func FuzzCompile(f *testing.F) {
	for _, expr := range []string{"a{3,7}", `(?i)[a-z\pL]*|\b`, "((x?){9}y){9}", `^[^\x{42}-\x{1E942}]$`, "(?=a)"} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		p, err := CompilePattern(expr)
		checked := CheckPattern(expr)
		check.Require(t, (err == nil) == (checked == nil), "%q: got %v, and %v when checked", expr, err, checked)
		if err != nil {
			return
		}
		_, prog := parsed(t, expr)
		check.That(t, p.Size >= 1 && prog <= 4*(p.Size+4), "%q: got %d instructions, want at most about %d", expr, prog, p.Size)
	})
}

// Small patterns are refused if they are large together, invalid patterns included.
func TestBudget(t *testing.T) {
	for name, tt := range map[string]struct {
		expr  string
		taken int // patterns before the budget is used up
	}{
		"instructions":        {"(ab?){330}", 150},
		"text":                {strings.Repeat("a|", 2000) + "a", 60},
		"of another language": {strings.Repeat("a", 5000) + "(?=b)", 49},
		"named classes":       {strings.Repeat(`\pL`, 300), 25},
		"folded ranges":       {`(?i)[\x{42}-\x{1E942}]`, 120},
		"too large":           {strings.Repeat("a", MaxPattern+1), 1000}, // it is not read
	} {
		var b PatternBudget
		taken := 0
		for range 1000 {
			if _, _, over := b.Check(tt.expr); over != nil {
				check.Require(t, strings.Contains(over.Error(), "more than 250000 instructions together"), "%s: got %v", name, over)
				break
			}
			taken++
		}
		check.That(t, taken >= tt.taken/2 && taken <= tt.taken*3, "%s: got %d taken, want about %d", name, taken, tt.taken)
	}
}

// A pattern that takes long to read is refused before it is read.
func TestPatternsThatAreHardToRead(t *testing.T) {
	for name, expr := range map[string]string{
		"folded ranges":       `(?i)` + strings.Repeat(`[\x{42}-\x{1E942}]`, 6),
		"ranges of letters":   `(?si:` + strings.Repeat(`[a-ÿ]`, 6) + `)`,
		"named classes":       strings.Repeat(`\pL`, 500),
		"named, not in them":  strings.Repeat(`\PL`, 500),
		"flags set and unset": `(?i-s)` + strings.Repeat(`[\x{42}-\x{1E942}]`, 6),
	} {
		check.Text(t, CheckPattern(expr), "to be read", name, "it refused")
	}
	for _, expr := range []string{`(?i)^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,63}$`, `^[\p{L}\p{N} '’-]{1,200}$`, strings.Repeat("[a-z]-", 500)} {
		check.NoError(t, CheckPattern(expr), expr)
	}
}
