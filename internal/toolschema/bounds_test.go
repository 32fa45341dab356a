package toolschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

func schemaOf(t testing.TB, raw string) *Schema {
	t.Helper()
	return check.Value(New(json.RawMessage(raw), new(schema.Cache)))(t)
}

// many writes n texts with commas between. Each %d becomes the number of the text.
func many(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

func TestRepairIsBounded(t *testing.T) {
	raw := `{"properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{"d40":{"type":"integer"}`
	for i := range 40 {
		raw += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	s := schemaOf(t, raw+`}}`)
	r := newRepair(s.Root())
	r.value(s.Root(), map[string]any{"v": "3"})
	check.That(t, r.left <= 0, "got %d steps left, want the schema to use them up", r.left)
	loop := schemaOf(t, `{"type":"object","properties":{"v":{"$ref":"#/properties/v"},"n":{"type":"integer"}}}`)
	got, err := loop.Arguments(`{"v":1,"n":"2"}`, false)
	check.That(t, err == nil && string(got) == `{"n":2,"v":1}`, "got %s, %v, want the loop passed over", got, err)
}

// The search through values and patterns has a bound.
func TestRepairIsBoundedByWhatItCompares(t *testing.T) {
	s := schemaOf(t, `{"properties":{"v":{"items":{"anyOf":[{"enum":[`+many(20_000, `"n%d"`)+`]},{"type":"integer"}]}}}}`)
	check.Text(t, check.Err(s.Arguments(`{"v":[`+many(5000, `"x"`)+`,"3"]}`, false)), "")
	got, err := s.Arguments(`{"v":["n19999","3"]}`, false)
	check.That(t, err == nil && string(got) == `{"v":["n19999",3]}`, "got %s, %v, want a short list repaired", got, err)

	for _, tt := range []struct {
		schema string
		value  any
		least  int
	}{
		{`{"items":{"anyOf":[{"pattern":"^(a|b){1,50}$"},{"type":"integer"}]}}`, []any{strings.Repeat("x", 64_000)}, 1000},
		{`{"anyOf":[{"type":"array","maxItems":1},{"type":"object"},{"type":"null"}]}`, strings.Repeat("[", 64_000), 8000}, // read as JSON, and as a list
	} {
		root := schemaOf(t, `{"properties":{"v":`+tt.schema+`}}`).Root()
		r := newRepair(root)
		before := r.doc.Left
		r.value(root, map[string]any{"v": tt.value})
		spent := before - r.doc.Left
		check.That(t, spent >= tt.least, "%s: got %d steps for 64,000 bytes, want at least %d", tt.schema, spent, tt.least)
	}
}

func TestArgumentsDoNotChangeWhatTheyReadFrom(t *testing.T) {
	args := map[string]any{"city": "Rome", "days": "3", "place": map[string]any{"lat": "1"}, "tags": []any{json.Number("1")}}
	s := schemaOf(t, `{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"days":{"type":"integer"},"place":{"type":"object","properties":{"lat":{"type":"number"}}},"tags":{"type":"array","items":{"type":"string"}}}}`)
	check.Must(t, check.Err(s.fit(args)))
	check.That(t, args["days"] == "3" && args["place"].(map[string]any)["lat"] == "1" && args["tags"].([]any)[0] == json.Number("1"),
		"got %v, want it untouched", args)
}

// The walk through recursive subschemas has a bound, for any form of recursion.
func TestRepairOfEndlessSchemasIsBounded(t *testing.T) {
	for _, s := range []string{
		`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}],"properties":{"n":{"type":"integer"}}}}}`,
		`{"properties":{"n":{"type":"integer"}},"if":{"$ref":"#"},"then":{"$ref":"#"},"else":{"$ref":"#"}}`,
		`{"properties":{"n":{"type":"integer"}},"dependentSchemas":{"n":{"$ref":"#"},"m":{"$ref":"#"}},"unevaluatedProperties":{"$ref":"#"}}`,
	} {
		r := newRepair(schemaOf(t, s).Root())
		got := r.value(r.doc.Root, map[string]any{"n": "3", "m": "x"})
		check.That(t, r.nested == 0 && r.left != maxRepairs,
			"%s: got %d levels and %d subschemas left, want all levels left again", s, r.nested, r.left)
		check.That(t, got != nil, "%s: got nothing, want a value", s)
	}
}

// The search through patterns of names has a bound.
func TestRepairIsBoundedByPatterns(t *testing.T) {
	patterns := map[string]any{}
	for i := range 2000 {
		patterns[fmt.Sprintf("^x%d$", i)] = map[string]any{}
	}
	s := map[string]any{"items": map[string]any{"patternProperties": patterns, "properties": map[string]any{"n": map[string]any{"type": "integer"}}}}
	r := newRepair(s)
	one, _ := r.value(s, []any{map[string]any{"n": "3"}}).([]any)
	check.That(t, len(one) == 1 && one[0].(map[string]any)["n"] == json.Number("3"), "got %v, want it repaired", one)
	r.value(s, slices.Repeat([]any{map[string]any{"n": "3"}}, 2000))
	check.That(t, r.doc.Left <= 0, "got %d left to compare, want the patterns to use it up", r.doc.Left)
}

// Aliases are replaced as long as the steps of one repair last, in any schema.
func TestUnaliasingTakesSteps(t *testing.T) {
	const odd = `{"properties":{"a b":{},"v":%s}}`
	for name, tt := range map[string]struct{ schema, value string }{
		"members of parts": {`{"allOf":[` + many(1400, `{"maximum":%d}`) + `]}`, `{` + many(2000, `"n_%d":1`) + `}`},
		"items of parts":   {`{"allOf":[` + many(1400, `{"maximum":%d}`) + `]}`, `[` + many(2000, `1`) + `]`},
		"patterns":         {`{"patternProperties":{` + many(1000, `"^x%d":{}`) + `}}`, `{` + many(1000, `"n_%d":1`) + `}`},
		"names":            {`{"items":{"required":[` + many(2000, `"n %d"`) + `]}}`, `[` + many(2000, `{"n_1":1}`) + `]`},
	} {
		compiled := check.Value(schema.Compile([]byte(fmt.Sprintf(odd, tt.schema))))(t)
		v := check.Value(schema.Decode([]byte(`{"a_b":1,"v":` + tt.value + `}`)))(t)
		root := compiled.Root().(map[string]any)
		u := unaliaser{newRepair(root), rewrite.Aliases(root)}
		out := u.value([]any{root}, v, schema.MaxDepth).(map[string]any)
		check.That(t, u.doc.Left <= 0, "%s: got %d steps left of %d, want all taken", name, u.doc.Left, maxCompared)
		check.Equal(t, name+": members or items", sizeOfValue(out["v"]), sizeOfValue(v.(map[string]any)["v"]))
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
		root := map[string]any{tt.keyword: slices.Repeat([]any{check.Value(schema.Decode([]byte(tt.part)))(t)}, n)}
		r := newRepair(root)
		check.Equal(t, name+": members or items", sizeOfValue(r.value(root, tt.value)), n)
		check.That(t, r.doc.Left <= 0, "%s: got %d steps left of %d, want all taken", name, r.doc.Left, maxCompared)
	}
}
