package excerpt

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	full := strings.Repeat("a", Max)
	for in, want := range map[string]string{
		"":                      "",
		full:                    full,
		full + "b":              full + "…",
		full[1:] + "é" + "rest": full[1:] + "…", // no half of a character
	} {
		if got := Cut(in); got != want {
			t.Errorf("Cut of %d bytes: got %q, want %q", len(in), got, want)
		}
	}
}

func TestShortenIsBounded(t *testing.T) {
	text := strings.Repeat("ä", 1000)
	for limit := range len(text) {
		got := Shorten(text, limit, nil)
		if len(got) > limit || strings.ToValidUTF8(got, "") != got {
			t.Fatalf("limit %d: got %d bytes, %q", limit, len(got), got)
		}
	}
}

func TestQuote(t *testing.T) {
	if got, want := Quote([]byte("a\n\xff")), `"a\n\xff"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Quote(make([]byte, 1<<20)), `"`+strings.Repeat(`\x00`, Max)+`…"`; got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}
