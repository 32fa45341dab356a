package toolschema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Aliases are replaced as long as the steps of one repair last, in any schema.
func TestUnaliasingTakesSteps(t *testing.T) {
	const odd = `{"properties":{"a b":{},"v":%s}}`
	for name, tt := range map[string]struct{ schema, value string }{
		"members of parts": {`{"allOf":[` + many(1400, `{"maximum":%d}`) + `]}`, `{` + many(2000, `"n_%d":1`) + `}`},
		"items of parts":   {`{"allOf":[` + many(1400, `{"maximum":%d}`) + `]}`, `[` + many(2000, `1`) + `]`},
		"patterns":         {`{"patternProperties":{` + many(1000, `"^x%d":{}`) + `}}`, `{` + many(1000, `"n_%d":1`) + `}`},
		"names":            {`{"items":{"required":[` + many(2000, `"n %d"`) + `]}}`, `[` + many(2000, `{"n_1":1}`) + `]`},
	} {
		compiled, err := schema.Compile([]byte(fmt.Sprintf(odd, tt.schema)))
		check.Must(t, err)
		v, err := schema.Decode([]byte(`{"a_b":1,"v":` + tt.value + `}`))
		check.Must(t, err)
		root := compiled.Root().(map[string]any)
		u := unaliaser{newRepair(root), rewrite.Aliases(root)}
		out := u.value([]any{root}, v, schema.MaxDepth).(map[string]any)
		check.That(t, u.doc.Left <= 0, "%s: got %d steps left of %d, want all taken", name, u.doc.Left, maxCompared)
		if got, want := sizeOfValue(out["v"]), sizeOfValue(v.(map[string]any)["v"]); got != want {
			t.Errorf("%s: got %d members or items, want all %d", name, got, want)
		}
		_, ok := out["a b"]
		check.That(t, ok, "%s: got %v, want the name of the member of the root", name, out)
	}
}

func sizeOfValue(v any) int {
	if object, ok := v.(map[string]any); ok {
		return len(object)
	}
	return len(tree.List(v))
}

// Each subschema about a member or an item costs steps.
func TestMembersTakeSteps(t *testing.T) {
	const n = 3000
	object := map[string]any{}
	for i := range n {
		object[fmt.Sprint("p", i)] = true
	}
	for name, tt := range map[string]struct {
		keyword, part string
		value         any
	}{
		"members":      {"allOf", `{"properties":{"q":{}}}`, object},
		"types":        {"allOf", `{"type":[` + strings.Repeat(`"string",`, n) + `"object"]}`, object},
		"alternatives": {"anyOf", `{"properties":{"p0":{"type":"null"}}}`, object},
	} {
		part, err := schema.Decode([]byte(tt.part))
		check.Must(t, err)
		root := map[string]any{tt.keyword: slices.Repeat([]any{part}, n)}
		r := newRepair(root)
		if got := sizeOfValue(r.value(root, tt.value)); got != n {
			t.Errorf("%s: got %d members or items, want all %d", name, got, n)
		}
		check.That(t, r.doc.Left <= 0, "%s: got %d steps left of %d, want all taken", name, r.doc.Left, maxCompared)
	}
}
