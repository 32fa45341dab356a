package excerpt

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestCut(t *testing.T) {
	full := strings.Repeat("a", Max)
	for in, want := range map[string]string{
		"":                      "",
		full:                    full,
		full + "b":              full + "…",
		full[1:] + "é" + "rest": full[1:] + "…", // no half of a character
	} {
		got := Cut(in)
		check.That(t, got == want, "Cut of %d bytes: got %q, want %q", len(in), got, want)
	}
}

func TestShortenIsBounded(t *testing.T) {
	text := strings.Repeat("ä", 1000)
	for limit := range len(text) {
		got := Shorten(text, limit, nil)
		check.Require(t, len(got) <= limit && strings.ToValidUTF8(got, "") == got, "limit %d: got %d bytes, %q", limit, len(got), got)
	}
}

func TestQuote(t *testing.T) {
	check.Equal(t, "", Quote([]byte("a\n\xff")), `"a\n\xff"`)
	got, want := Quote(make([]byte, 1<<20)), `"`+strings.Repeat(`\x00`, Max)+`…"`
	check.That(t, got == want, "got %d bytes, want %d", len(got), len(want))
}

func TestIndent(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1]}`: "{\n  \"a\": [\n    1\n  ]\n}",
		`"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["`:                                             `"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100):                                    "", // 20 KB of indentation
		strings.Repeat("[", 20) + strings.Repeat("1,", 10_000) + "1" + strings.Repeat("]", 20): "", // 400 KB
		`{"a":`: "",
	} {
		got, ok := Indent(text)
		check.Equal(t, text, got, want)
		check.Equal(t, text, ok, want != "")
	}
	_, ok := Indent(strings.Repeat("[", 32) + strings.Repeat("]", 32))
	check.That(t, ok, "32 arrays in each other were not indented")
}
