package paramheader_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
)

func TestOf(t *testing.T) {
	const ok = ""
	deep := strings.Repeat(`{"properties":{"a":`, 70) + `{"type":"string","x-mcp-header":"A"}` + strings.Repeat(`}}`, 70)
	var many strings.Builder
	for i := range 65 {
		fmt.Fprintf(&many, `"p%d":{"type":"string","x-mcp-header":"H%d"},`, i, i)
	}
	tests := []struct{ name, schema, want string }{
		{"none", `{"type":"object"}`, ok},
		{"string", `{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, ok},
		{"types", `{"properties":{"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"boolean","x-mcp-header":"B"}}}`, ok},
		{"nested", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}`, ok},
		{"like a standard header", `{"properties":{"a":{"type":"string","x-mcp-header":"Method"}}}`, ok},
		{"all of a token", "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"!#$%&'*+-.^_`|~09azAZ\"}}}", ok},
		{"a property of that name", `{"properties":{"x-mcp-header":{"type":"array"}}}`, ok},
		{"only text", `{"properties":{"a":{"enum":["x-mcp-header"],"const":{"x-mcp-header":""},"default":{"x-mcp-header":1},"examples":[{"x-mcp-header":1}]}}}`, ok},
		{"escaped type", `{"properties":{"a":{"type":"str\u0069ng","x-mcp-header":"A"}}}`, ok},
		{"no schema", `true`, ok},

		{"empty", `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "not empty"},
		{"number", `{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, "want a string"},
		{"null", `{"properties":{"a":{"type":"string","x-mcp-header":null}}}`, "want a string"},
		{"space", `{"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}}`, "not a header name"},
		{"colon", `{"properties":{"a":{"type":"string","x-mcp-header":"A:B"}}}`, "not a header name"},
		{"control", `{"properties":{"a":{"type":"string","x-mcp-header":"A\tB"}}}`, "not a header name"},
		{"not ASCII", `{"properties":{"a":{"type":"string","x-mcp-header":"Région"}}}`, "not a header name"},
		{"escaped name", `{"properties":{"a":{"type":"string","x-mcp-he\u0061der":"A B"}}}`, "not a header name"},
		{"long", `{"properties":{"a":{"type":"string","x-mcp-header":"` + strings.Repeat("a", 129) + `"}}}`, "longer than 128 bytes"},
		{"twice", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"A"}}}`, "twice"},
		{"twice by case", `{"properties":{"a":{"type":"string","x-mcp-header":"Ab"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"aB"}}}}}`, "twice"},
		{"type number", `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, `integer or boolean, and has "number"`},
		{"type object", `{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, "needs the type"},
		{"type array", `{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`, "needs the type"},
		{"type null", `{"properties":{"a":{"type":"null","x-mcp-header":"A"}}}`, "needs the type"},
		{"type union", `{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, "needs the type"},
		{"no type", `{"properties":{"a":{"x-mcp-header":"A"}}}`, "and has none"},
		{"root", `{"type":"string","x-mcp-header":"A"}`, "properties alone do not lead"},
		{"items", `{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`, "inputSchema.properties.a.items: "},
		{"too deep", deep, "nested deeper than 64"},
		{"too many in a list", `{"properties":{"mcp-header":{"allOf":[` + strings.Repeat("1,", 10_000) + `1]}}}`, "more than 10000 elements"},
		{"too many", `{"properties":{` + many.String() + `"z":{}}}`, "more than 64 parameters"},
	}
	const annotated = `{"type":"string","x-mcp-header":"A"}`
	for _, keyword := range []string{"additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties",
		"propertyNames", "not", "if", "then", "else", "contentSchema"} {
		tests = append(tests, struct{ name, schema, want string }{keyword, `{"` + keyword + `":{"properties":{"a":` + annotated + `}}}`, "properties alone"})
	}
	for _, keyword := range []string{"items", "prefixItems", "allOf", "anyOf", "oneOf"} {
		tests = append(tests, struct{ name, schema, want string }{keyword, `{"` + keyword + `":[true,` + annotated + `]}`, keyword + "[1]"})
	}
	for _, keyword := range []string{"patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"} {
		tests = append(tests, struct{ name, schema, want string }{keyword, `{"` + keyword + `":{"a":` + annotated + `}}`, keyword + ".a"})
	}
	for _, test := range tests {
		if err := check.Err(paramheader.Of(json.RawMessage(test.schema))); test.want == ok {
			check.NoError(t, err, test.name)
		} else {
			check.Text(t, err, test.want, test.name)
		}
	}
}

// The work grows with the schema, even if a place in it has a long name.
func TestOfIsLinear(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"properties":{"mcp-header%s":{"properties":{"a":{}`, strings.Repeat("k", 1<<20))
	for i := range 1000 {
		fmt.Fprintf(&b, `,"p%d":{}`, i)
	}
	b.WriteString(`}}}}`)
	got := check.Allocated(func() { check.Must(t, check.Err(paramheader.Of(json.RawMessage(b.String())))) })
	want := uint64(20 << 20)
	check.That(t, got <= want, "a schema of %d bytes: got %d bytes allocated, want at most %d", b.Len(), got, want)
}

func FuzzOf(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`)
	f.Add(` {"items":[{"x-mcp-header":"A"}],"$defs":{"a":7},"not":{"x-mcp-header":1}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		_, err := paramheader.Of(json.RawMessage(schema))
		switch {
		case err != nil && json.Valid([]byte(schema)) && !strings.Contains(schema, "mcp-header") && !strings.Contains(schema, `\u`):
			t.Errorf("%q has no annotation: got %v", schema, err)
		case err != nil && len(err.Error()) > 16<<10:
			t.Errorf("got an error of %d bytes", len(err.Error()))
		}
	})
}
