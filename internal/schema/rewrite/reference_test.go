package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

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
		if got := written.Plain(tree.Object(out.Root["properties"])[name])["type"]; got != want {
			t.Errorf("%s: got the type %v, want %s\n%s", name, got, want, tree.Show(out.Root))
		}
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
