package tree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func decode(t *testing.T, raw string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var out map[string]any
	check.Must(t, dec.Decode(&out))
	return out
}

func TestResolve(t *testing.T) {
	doc := &Document{Root: decode(t, `{"$id":"https://example.com/r","$defs":{"a<b>":{"title":"percent"},"x/y":{"title":"escaped"},
		"c":{"$anchor":"c","title":"anchor"},"d":{"$dynamicAnchor":"d","title":"dynamic"},"old":{"$id":"#old","title":"old"},
		"in":{"$id":"https://example.com/in","title":"in","$defs":{"e":{"$anchor":"e"}}}},"const":{"$anchor":"f"},"properties":{"$anchor":{"title":"property"}}}`)}
	for ref, want := range map[string]string{
		"#/$defs/a%3Cb%3E": "percent", "#/$defs/x~1y": "escaped", "#/%24defs/x~1y": "escaped", "#c": "anchor", "#d": "dynamic",
		"#old": "old", "#/$defs/in": "in", "#/properties/$anchor": "property",
		"#/$defs/in/$defs/e": "", "#e": "", "#f": "", "#/$defs/%zz": "", "other": "", "elsewhere": "",
	} {
		v, ok := doc.Resolve(ref)
		if got := Text(Object(v)["title"]); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", ref, got, ok, want)
		}
	}
	if v, ok := doc.Resolve("#"); !ok || !Same(v, doc.Root) {
		t.Error("got another root")
	}
}

// A pattern is compiled once, and matching costs steps by the length of the text.
func TestMatches(t *testing.T) {
	doc := &Document{Left: 1 << 20}
	for text, want := range map[string]bool{"ab": true, "x": false} {
		if matches, known := doc.Matches("^(a|b){1,50}$", text); matches != want || !known {
			t.Errorf("%s: got %v, %v, want %v and that it is known", text, matches, known, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { doc.Matches("^(a|b){1,50}$", "ab") }); n > 0 {
		t.Errorf("got %v allocations for a pattern that was compiled, want none", n)
	}
	if _, known := doc.Matches("^(?!x)", "x"); known {
		t.Error("got a pattern of another language known")
	}
	before := doc.Left
	doc.Matches("^a", strings.Repeat("x", 64_000))
	if spent := before - doc.Left; spent < 1000 {
		t.Errorf("got %d steps for 64,000 bytes, want at least 1,000", spent)
	}
	before = doc.Left
	doc.Matches("(a?){900}b", strings.Repeat("a", 6400))
	if spent := before - doc.Left; spent < 90_000 {
		t.Errorf("got %d steps for 6,400 bytes by about 2,000 instructions, want at least 90,000", spent)
	}
	doc.Left = 5
	if _, known := doc.Matches("^a", "a"); known || doc.Left != 0 {
		t.Errorf("got it known, and %d steps left, want nothing left where there is not enough", doc.Left)
	}
}

// The search for a reference's target ends with the steps.
func TestLongReferencesTakeSteps(t *testing.T) {
	long := strings.Repeat("x", 6400)
	doc := &Document{Root: map[string]any{"$defs": map[string]any{long: map[string]any{}}}, Left: 1000}
	found := 0
	for range 20 {
		if _, ok := doc.Resolve("#/$defs/" + long); ok {
			found++
		}
	}
	if found != 10 || doc.Left != 0 {
		t.Errorf("got it found %d times with %d steps left, want 10 and none", found, doc.Left)
	}
	if _, ok := doc.Resolve("#/$defs"); !ok {
		t.Error("got no target of a short reference, which takes no steps")
	}
}
