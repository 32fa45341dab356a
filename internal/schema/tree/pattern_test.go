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
		if err != nil || got.String() != regexp.MustCompile(expr).String() {
			t.Errorf("%q: got %v, %v", expr, got, err)
		}
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
		if err == nil || n > 4<<20 {
			t.Errorf("%s: got %v and %d bytes allocated, want an error and less than 4 MiB", name, err, n)
		}
	}
}

// The estimated size is not less than a third of the program's.
func TestSize(t *testing.T) {
	for _, expr := range []string{"abc", "a{3,7}", "(a|bc)*d?", "[a-z]{10,}", "(x{5}y){4}", "(?:a{0,9}){0,9}"} {
		check.Must(t, CheckPattern(expr))
		re, prog := parsed(t, expr)
		if n := size(re); 3*n < prog || n > 3*prog {
			t.Errorf("%q: got %d, want about %d", expr, n, prog)
		}
	}
}

// parsed is an expression, and the length of its compiled program.
func parsed(t *testing.T, expr string) (*syntax.Regexp, int) {
	t.Helper()
	re, err := syntax.Parse(expr, syntax.Perl)
	check.Must(t, err)
	prog, err := syntax.Compile(re.Simplify())
	check.Must(t, err)
	return re, len(prog.Inst)
}

// An accepted pattern compiles to about the estimated size, never to much more.
func FuzzCompile(f *testing.F) {
	for _, expr := range []string{"a{3,7}", `(?i)[a-z\pL]*|\b`, "((x?){9}y){9}", `^[^\x{42}-\x{1E942}]$`, "(?=a)"} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		p, err := CompilePattern(expr)
		if (err == nil) != (CheckPattern(expr) == nil) {
			t.Fatalf("%q: got %v, and %v when checked", expr, err, CheckPattern(expr))
		}
		if err != nil {
			return
		}
		_, prog := parsed(t, expr)
		if p.Size < 1 || prog > 4*(p.Size+4) {
			t.Errorf("%q: got %d instructions, want at most about %d", expr, prog, p.Size)
		}
	})
}
