package tree

import (
	"encoding/json"
	"fmt"
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
		got := Text(Object(v)["title"])
		check.That(t, got == want && ok == (want != ""), "%s: got %q, %v, want %q", ref, got, ok, want)
	}
	v, ok := doc.Resolve("#")
	check.That(t, ok && Same(v, doc.Root), "got another root")
}

// A pattern is compiled once, and matching costs steps by the length of the text.
func TestMatches(t *testing.T) {
	doc := &Document{Left: 1 << 20}
	for text, want := range map[string]bool{"ab": true, "x": false} {
		matches, known := doc.Matches("^(a|b){1,50}$", text)
		check.That(t, matches == want && known, "%s: got %v, %v, want %v and that it is known", text, matches, known, want)
	}
	n := testing.AllocsPerRun(10, func() { doc.Matches("^(a|b){1,50}$", "ab") })
	check.That(t, n <= 0, "got %v allocations for a pattern that was compiled, want none", n)
	_, known := doc.Matches("^(?!x)", "x")
	check.That(t, !known, "got a pattern of another language known")
	for _, tt := range []struct {
		pattern, text string
		least         int
	}{{"^a", strings.Repeat("x", 64_000), 1000}, {"(a?){900}b", strings.Repeat("a", 6400), 90_000}} { // about 2,000 instructions
		before := doc.Left
		doc.Matches(tt.pattern, tt.text)
		check.That(t, before-doc.Left >= tt.least, "%s: got %d steps for %d bytes, want at least %d", tt.pattern, before-doc.Left, len(tt.text), tt.least)
	}
	doc.Left = 5
	_, known = doc.Matches("^a", "a")
	check.That(t, !known && doc.Left == 0, "got it known: %t, and %d steps left, want nothing left where there is not enough", known, doc.Left)
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
	check.That(t, found == 10 && doc.Left == 0, "got it found %d times with %d steps left, want 10 and none", found, doc.Left)
	_, ok := doc.Resolve("#/$defs")
	check.That(t, ok, "got no target of a short reference, which takes no steps")
}

// Numbers are equal by their value, and an exponent without end costs nothing.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1e2`, `100`, true}, {`-0`, `0`, true}, {`0.5`, `5e-1`, true}, {`1`, `2`, false}, {`1`, `"1"`, false},
		{`[1]`, `[1.0]`, true}, {`{"a":[1]}`, `{"a":[1.00]}`, true}, {`[1]`, `["1"]`, false}, {`[1]`, `[["number","1"]]`, false},
		{`10`, `1e1`, true}, {`0.10`, `1E-1`, true}, {`1200`, `12e+2`, true}, {`1e999999999`, `10e999999998`, true},
		{`1`, `-1`, false}, {`1`, `10`, false}, {`1e99999999999999999999`, `1e99999999999999999998`, false},
		{`null`, `false`, false}, {`[]`, `{}`, false}, {`100000000000000000000`, `1e20`, true},
	} {
		pair := decode(t, `{"a":`+tt.a+`,"b":`+tt.b+`}`)
		got := Identity(pair["a"]) == Identity(pair["b"])
		check.That(t, got == tt.want, "%s and %s: got %v, want %v", tt.a, tt.b, got, tt.want)
	}
}

const everywhere = `{"not":{},"items":[{},true],"additionalItems":{},"allOf":[{}],"properties":{"b/c":{},"a":5},"dependencies":{"x":["y"],"z":{}},
	"const":{"not":{}},"enum":[{"items":{}}],"default":{"properties":{"p":{}}}}`

// Each visits subschemas, and other values in their places, but no data.
func TestEach(t *testing.T) {
	var got []string
	for place, sub := range Each(decode(t, everywhere)) {
		got = append(got, fmt.Sprintf("%s %d %s", place.Join(""), place.Kind, check.Value(json.Marshal(sub))(t)))
	}
	want := []string{
		"/not 0 {}", "/items/0 3 {}", "/items/1 3 true", "/additionalItems 3 {}", "/allOf/0 0 {}",
		"/properties/a 1 5", "/properties/b~1c 1 {}", "/dependencies/z 0 {}",
	}
	check.Same(t, "", got, want)
}

// Map replaces what Each visits, in a copy.
func TestMap(t *testing.T) {
	in := decode(t, everywhere)
	got := Map(in, func(p Place, _ any) any { return p.Join("") })
	want := decode(t, `{"not":"/not","items":["/items/0","/items/1"],"additionalItems":"/additionalItems","allOf":["/allOf/0"],
		"properties":{"b/c":"/properties/b~1c","a":"/properties/a"},"dependencies":{"x":["y"],"z":"/dependencies/z"},
		"const":{"not":{}},"enum":[{"items":{}}],"default":{"properties":{"p":{}}}}`)
	check.Same(t, "", got, want)
	check.Same(t, "the schema that was mapped", in, decode(t, everywhere))
}

func TestAll(t *testing.T) {
	var titles []string
	for s := range All(decode(t, `{"title":"a","items":{"title":"b","not":{"title":"c"}},"allOf":[true,{"title":"d"}],"enum":[{"title":"e"}]}`)) {
		titles = append(titles, s["title"].(string))
	}
	check.Equal(t, "abcd", strings.Join(titles, ""), "abcd")
}
