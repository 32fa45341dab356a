package kept_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/kept"
)

// A search finds what FindAllStringIndex finds.
func TestFindAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	patterns := []string{
		"a", "ab|a", "a*", "", "^", "$", "^a", "a$", `\b`, `\Ba`, `\Aa`, `a\z`, "(a)(b)?", "(?i)A", "(?s)a.b", "a.b", "(?-m)^a", "x*?", `[^a]+`, `\Qa.`, `é|\n`, "(?U)a+", `\pL+`, "b|ab",
	}
	for range 2000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString([]string{"a", "b", "A", "é", "\n", " ", ".", "x"}[r.IntN(8)])
		}
		for _, p := range patterns {
			want := regexp.MustCompile("(?m)"+p).FindAllStringIndex(b.String(), -1)
			got, searched, err := kept.FindAll(t.Context(), p, b.String(), 1<<20)
			check.Require(t, err == nil && searched == b.Len() && fmt.Sprint(got) == fmt.Sprint(want),
				"%q in %q: got %v to %d, %v, want %v", p, &b, got, searched, err, want)
		}
	}
}

// A pattern that reads the rest of the text for each match, or that has many instructions, ends a search
// early, and so does the context.
func TestSearchIsBounded(t *testing.T) {
	text := strings.Repeat("x", 1<<16)
	for _, p := range []string{`x[^y]*y|x`, `(?:x?){900}y`} {
		const steps = 1 << 20
		found, searched, err := kept.FindAll(t.Context(), p, text, steps)
		check.That(t, err == nil && searched < 1<<12 && len(found) <= 100,
			"%s: got %d matches in %d bytes, %v", p, len(found), searched, err)
	}
	got, err := kept.Read(t.Context(), []byte(strings.Repeat("x", 1<<20)), kept.Query{Pattern: `(?:x?){900}y`}, 6000)
	want := "[no match, and the search takes too long: continue with offset 110926, or use a simpler pattern]"
	check.That(t, err == nil && got == want, "got %q, %v, want %q", got, err, want)
	if found, searched, err := kept.FindAll(t.Context(), "xyz", text+"xyz", 1); err != nil || searched != len(text)+3 || len(found) != 1 {
		t.Errorf("words: got %v in %d bytes, %v, want all of the text searched", found, searched, err)
	}
	many := kept.Query{Fields: slices.Repeat([]string{"a"}, 51)}
	check.Text(t, check.Err(kept.Read(t.Context(), []byte(`{"a":1}`), many, 6000)), "51 fields")
	big := kept.Query{Fields: []string{"a", "/a", "/a/0"}}
	data := `{"a":["` + strings.Repeat("x", 20<<20) + `"]}`
	check.Text(t, check.Err(kept.Read(t.Context(), []byte(data), big, 6000)), "more than 32 MiB")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(kept.Read(ctx, []byte(text), kept.Query{Pattern: "y"}, 6000)), context.Canceled)
	_, _, err = kept.FindAll(t.Context(), "(a", "", 1)
	check.That(t, err != nil && !strings.Contains(err.Error(), "(?m)"), "got %v, want an error in the words of the model", err)
}
