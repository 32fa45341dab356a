package rewrite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The path of a change is that of the subschema in the original, with the keywords of its draft.
func TestPlacesOfChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		target            profile.Profile
		in, path, keyword string
	}{
		"unevaluatedItems":                   {profile.GoogleAI, `{"properties":{"a":{"type":"array","unevaluatedItems":{"enum":[1]}}}}`, "/properties/a/unevaluatedItems", "enum"},
		"unevaluatedItems of an alternative": {profile.GoogleAI, `{"properties":{"a":{"anyOf":[{"type":"array","unevaluatedItems":{"enum":[1]}},{"type":"null"}]}}}`, "/properties/a/anyOf/0/unevaluatedItems", "enum"},
		"a part":                             {profile.Gemini, `{"properties":{"a":{"allOf":[{"properties":{"n":{"type":"integer","multipleOf":5}}},{"type":"object"}]}}}`, "/properties/a/allOf/0/properties/n", "multipleOf"},
		"a list of items":                    {profile.Gemini, `{"properties":{"a":{"type":"array","items":[{"type":"integer","multipleOf":5}],"additionalItems":{"type":"object","properties":{"":{"type":"integer","multipleOf":5}}}}}}`, "/properties/a/items/0", "multipleOf"},
		"an alternative of the root":         {profile.GoogleAI, `{"anyOf":[{"properties":{"n":{"type":"string","maxLength":3}}},{"required":["m"]}]}`, "/anyOf/0/properties/n", "maxLength"},
		"what the root refers to":            {profile.GoogleAI, `{"$ref":"#/$defs/d","$defs":{"d":{"properties":{"n":{"type":"string","maxLength":3}}}}}`, "/properties/n", "maxLength"},
		"what a property refers to":          {profile.GoogleAI, `{"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"object","properties":{"n":{"type":"string","maxLength":3}}}}}`, "/properties/a/properties/n", "maxLength"},

		"a keyword of a part":              {profile.Gemini, `{"properties":{"a":{"description":"d","allOf":[{"type":"integer"},{"multipleOf":5}]}}}`, "/properties/a", "multipleOf"},
		"a keyword of a part of a part":    {profile.Gemini, `{"properties":{"a":{"allOf":[{"type":"integer"},{"minimum":1,"allOf":[{"multipleOf":5}]}]}}}`, "/properties/a", "multipleOf"},
		"a keyword beside alternatives":    {profile.Gemini, `{"properties":{"a":{"multipleOf":5,"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`, "/properties/a/anyOf/0", "multipleOf"},
		"a keyword of an alternative":      {profile.Gemini, `{"properties":{"a":{"minimum":1,"anyOf":[{"type":"integer","multipleOf":5},{"type":"boolean"}]}}}`, "/properties/a/anyOf/0", "multipleOf"},
		"a keyword of a part of the root":  {profile.Gemini, `{"allOf":[{"properties":{"a":{}}},{"allOf":[{"dependentRequired":{"a":["b"]}}],"not":{"pattern":"^x"}}]}`, "", "not"},
		"a not with other keywords":        {profile.Gemini, `{"properties":{"a":{"enum":["x","y"],"not":{"enum":["x"],"minLength":3}}}}`, "/properties/a", "not"},
		"a keyword of what is referred to": {profile.Gemini, `{"properties":{"a":{"allOf":[{"$ref":"#/$defs/d"}]}},"$defs":{"d":{"type":"integer","multipleOf":5}}}`, "/properties/a", "multipleOf"},
	} {
		t.Run(name, func(t *testing.T) {
			changes := For(tt.target, decode(t, tt.in), nil).Changes
			check.That(t, slices.ContainsFunc(changes, func(c profile.Change) bool {
				return c.Path == tt.path && c.Keyword == tt.keyword && c.Effect == profile.Wider
			}), "got %v, want one of %s at %s", changes, tt.keyword, tt.path)
		})
	}
}

// A change in every alternative is listed once.
func TestChangesAreDistinct(t *testing.T) {
	in := `{"properties":{"v":{"type":"object","properties":{"a":{"type":["string","null"]}},"anyOf":[{"required":["a"]},{"required":["b"]}]}}}`
	count := map[profile.Change]int{}
	for _, c := range For(profile.Gemini, decode(t, in), nil).Changes {
		count[c]++
	}
	nullable := profile.Change{Path: "/properties/v/properties/a", Keyword: "type", Effect: profile.Same, Note: "null is written as nullable"}
	check.That(t, count[nullable] == 1, "got %v, want %v once", count, nullable)
	for c, n := range count {
		check.That(t, n <= 1, "got %v %d times, want it once", c, n)
	}
}

// GoogleAI has no way to write that null is allowed, so each null is a loss there.
func TestNullAtGoogleAI(t *testing.T) {
	for in, keyword := range map[string]string{
		`{"properties":{"a":{"type":["string","null"]}}}`:                     "type",
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`:  "anyOf",
		`{"properties":{"a":{"enum":["x",null]}}}`:                            "enum",
		`{"properties":{"a":{"enum":[null]}}}`:                                "enum",
		`{"properties":{"a":{"type":["string","null"],"enum":["x",null]}}}`:   "enum",
		`{"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"null"}]}}}`: "oneOf",
	} {
		loss := profile.Change{Path: "/properties/a", Keyword: keyword, Effect: profile.Narrower, Note: "null is not offered"}
		got := For(profile.GoogleAI, decode(t, in), nil).Changes
		check.That(t, slices.Contains(got, loss), "%s: got %v, want %v", in, got, loss)
	}
}

// The changes of one schema are listed in the same order every time.
func TestOrderOfChanges(t *testing.T) {
	in := decode(t, `{"properties":{"n":{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":true}}}`)
	var want []string
	for i := range 50 {
		var got []string
		for _, c := range For(profile.OpenAI, in, nil).Changes {
			got = append(got, c.Path+" "+c.Keyword)
		}
		if i == 0 {
			want = got
		}
		check.Same(t, fmt.Sprintf("run %d", i), got, want)
	}
}

// Both spellings of a dependency apply, also together for one name.
func TestDependenciesOfTwoDrafts(t *testing.T) {
	in := decode(t, `{"properties":{},"dependencies":{"a":["b"],"s":{"required":["x"]}},"dependentRequired":{"a":["c"],"d":["e"]},"dependentSchemas":{"s":{"required":["y"]}}}`)
	want := `{"dependentRequired":{"a":["c","b"],"d":["e"]},"dependentSchemas":{"s":{"allOf":[{"required":["y"]},{"required":["x"]}]}},"properties":{},"type":"object"}`
	check.Equal(t, "", tree.Show(For(profile.OpenAI, in, nil).Root), want)
}

// The path of a change is a pointer into the schema, and references follow renamed targets.
func TestPathsArePointers(t *testing.T) {
	in := decode(t, `{"properties":{"a b":{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"integer"}},"c":{"$ref":"#/properties/a%20b/items/0"},
		"d":{"$ref":"#/properties/a b/additionalItems"},"e":{"$ref":"#/properties/f/dependencies/x/properties/p"},"f":{"dependencies":{"x":{"properties":{"p":{"type":"null"}}}}}}}`)
	doc := &tree.Document{Root: in, Left: 1000}
	out := For(profile.Anthropic, in, nil)
	for _, c := range out.Changes {
		_, ok := doc.Resolve("#" + c.Path)
		check.That(t, ok, "got a change of %q, want a pointer to what is there", c.Path)
	}
	written := &tree.Document{Root: out.Root, Left: 1000}
	for name, want := range map[string]string{"c": "string", "d": "integer", "e": "null"} {
		check.Equal[any](t, name+" in "+tree.Show(out.Root), written.Plain(tree.Object(out.Root["properties"])[name])["type"], want)
	}
}

// References follow renamed targets below names that a URI or a JSON pointer escapes, and below long ones.
func TestReferencesToOddNames(t *testing.T) {
	for name, ref := range map[string]string{"100%/~": "100%25~1~0", "n" + strings.Repeat("a", tree.MaxPath): "n" + strings.Repeat("a", tree.MaxPath)} {
		root := For(profile.OpenAI, decode(t, fmt.Sprintf(`{"properties":{%q:{"items":[{"type":"boolean"}]},"p":{"$ref":"#/properties/%s/items/0"}}}`, name, ref)), nil).Root
		written := &tree.Document{Root: root, Left: 1000}
		check.Equal(t, name[:4], written.Plain(tree.Object(root["properties"])["p"])["type"], any("boolean"))
	}
}

// A reference follows unevaluatedItems where it is written as items.
func TestReferencesToUnevaluatedItems(t *testing.T) {
	for _, target := range []profile.Profile{profile.OpenAI, profile.Gemini} {
		in := decode(t, `{"properties":{"l":{"type":"array","items":[{"type":"null"}],"unevaluatedItems":{"type":"boolean"}},"p":{"$ref":"#/properties/l/unevaluatedItems"}}}`)
		root := For(target, in, nil).Root
		written := &tree.Document{Root: root, Left: 1000}
		check.Equal(t, string(target), written.Plain(tree.Object(root["properties"])["p"])["type"], any("boolean"))
	}
}

// A reference to what is not written demands nothing.
func TestReferencesToNowhere(t *testing.T) {
	const list = `{"properties":{"l":{"prefixItems":[{"type":"null"}],"items":{"type":"null"}},"p":{"$ref":"#/properties/l/prefixItems/0"}}}`
	const names = `{"properties":{"$a":{"type":"null"},"p":{"$ref":"#/propertyNames"}},"propertyNames":{"maxLength":9}}`
	const old = `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"l":{"$ref":"#/definitions/d","not":{"type":"null"}},"p":{"$ref":"#/properties/l/not"}},"definitions":{"d":{}}}`
	for in, target := range map[string]profile.Profile{list: profile.LlamaCpp, names: profile.Anthropic, old: profile.OpenAI} {
		got := For(target, decode(t, in), nil)
		check.Equal(t, in, tree.Show(tree.Object(got.Root["properties"])["p"]), "{}")
		lost := profile.Change{Path: "/properties/p", Keyword: "$ref", Effect: profile.Wider, Note: "left to validation, because what it refers to is not written"}
		check.That(t, slices.Contains(got.Changes, lost), "%s: got %v, want %v", in, got.Changes, lost)
	}
}

// The work of merging a root is not the product of its parts: an expensive root is wrapped instead.
func TestMergingIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		schema string
		work   int // bytes that may be allocated for one of the schema
	}{
		"names of alternatives": {`{"anyOf":[{"required":[` + each(40_000, `"a%d"`) + `]},{"required":[` + each(40_000, `"b%d"`) + `]}]}`, 200},
		"names of parts":        {`{"allOf":[{"required":[` + each(40_000, `"a%d"`) + `]}` + strings.Repeat(`,{"required":["z"]}`, 190) + `]}`, 400},
	} {
		in := decode(t, tt.schema)
		for _, target := range []profile.Profile{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.GoogleAI} {
			var root map[string]any
			used := check.Allocated(func() { root = For(target, in, nil).Root })
			atMost(t, fmt.Sprint(name, " for ", target, ": bytes allocated"), int(used), tt.work*len(tt.schema))
			atMost(t, fmt.Sprint(name, " for ", target, ": bytes"), len(encoded(t, root)), 20*len(tt.schema))
		}
	}
}

// Of two subschemas with the same condition, both consequences apply.
func TestMergeOfConditions(t *testing.T) {
	a := decode(t, `{"if":{"required":["a"]},"then":{"required":["b"]}}`)
	b := decode(t, `{"if":{"required":["a"]},"then":{"required":["c"]},"else":false}`)
	out, lost := merge(a, b)
	check.Equal(t, "", tree.Show(out), `{"else":false,"if":{"required":["a"]},"then":{"allOf":[{"required":["b"]},{"required":["c"]}]}}`)
	check.Equal(t, "lost keywords", len(lost), 0)
}

// A tuple whose items differ only in what is said of them is a list for Gemini, any other is JSON text.
func TestTuplesForGemini(t *testing.T) {
	for items, want := range map[string]string{
		`{"type":"number","title":"x"},{"type":"number","description":"up"}`: `{"items":{"type":"number"},"maxItems":2,"type":"array"}`,
		`{"type":"number"},{"type":"number","minimum":0}`:                    `{"description":"Write the list as JSON.","type":"string"}`,
	} {
		in := decode(t, `{"properties":{"a":{"type":"array","prefixItems":[`+items+`],"items":false}}}`)
		check.Equal(t, items, tree.Show(tree.Object(For(profile.Gemini, in, nil).Root["properties"])["a"]), want)
	}
}
