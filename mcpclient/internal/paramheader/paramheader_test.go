package paramheader_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
)

// maxSafeInteger is the largest that every JSON implementation holds.
const maxSafeInteger = 1<<53 - 1

// Every value comes back from its header, and the header has only valid bytes.
func FuzzValue(f *testing.F) {
	for _, v := range []string{"", "plain", " a", "a\t", "a\tb", "käse", "=?base64?YQ==?=", "=?base64?", "a\r\nX: y", "\x7f", "\xff", "=?BASE64?YQ==?="} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		h := paramheader.Value(v)
		check.That(t, strings.Trim(h, " \t") == h && !strings.ContainsFunc(h, func(r rune) bool { return r < 0x20 || r > 0x7e }),
			"%q becomes the header %q", v, h)
		got := h
		if inner, ok := strings.CutPrefix(h, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
			raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
			check.Require(t, err == nil, "%q becomes the header %q: %v", v, h, err)
			got = string(raw)
		}
		check.That(t, got == v, "%q becomes the header %q, which says %q", v, h, got)
	})
}

// An error of an argument names the whole path to it.
func TestMirrorNamesTheArgument(t *testing.T) {
	params, err := paramheader.Of(json.RawMessage(`{"properties":{"a":{"properties":{"id":{"type":"integer","x-mcp-header":"A"}}}}}`))
	check.Must(t, err)
	err = paramheader.Mirror(params, []byte(`{"a":{"id":1e300}}`), func(string, string) {})
	check.Text(t, err, `argument "a.id": 1e300 is repeated in a header`)
}

// The headers of a call say what its arguments say.
func FuzzMirror(f *testing.F) {
	for _, args := range []string{`{"a":"x","b":{"c":1}}`, `{"a":-0,"b":{"c":4.0e1}}`, `{"a":true,"a":null,"b":{"c":1},"b":[]}`, `{"b":{"c":1},"b":{}}`, `{"a":9007199254740993}`, `{"b":{"c":9007199254740993}}`, `{"a":"\ud83d","b":{"c":1e-7}}`, `[]`} {
		f.Add([]byte(args))
	}
	params, err := paramheader.Of(json.RawMessage(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},
		"b":{"properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}`))
	check.Must(f, err)
	f.Fuzz(func(t *testing.T, args []byte) {
		args = bytes.Trim(args, " \t\r\n")
		var order, within map[string]json.RawMessage
		if !json.Valid(args) || json.Unmarshal(args, &order) != nil {
			return
		}
		_ = json.Unmarshal(order["b"], &within)
		h := map[string]string{}
		err := paramheader.Mirror(params, args, func(header, value string) { h[header] = value })
		unsafe := false
		for name, value := range map[string]json.RawMessage{"Mcp-Param-A": order["a"], "Mcp-Param-C": within["c"]} {
			want, ok, tooLarge := said(value)
			if tooLarge && name == "Mcp-Param-A" { // which is a string: not of the declared type
				want, tooLarge = string(value), false
			}
			unsafe = unsafe || tooLarge
			switch got, there := h[name]; {
			case tooLarge:
			case there != ok:
				t.Errorf("%s: header %s is there: %t, want %t", args, name, there, ok)
			case ok && got != paramheader.Value(want):
				t.Errorf("%s: header %s is %q, want %q", args, name, got, paramheader.Value(want))
			}
		}
		check.That(t, (err != nil) == unsafe, "%s: got %v, want an error for an unsafe integer: %t", args, err, unsafe)
	})
}

// said is the text of an argument in a header, found out with exact numbers.
func said(value json.RawMessage) (text string, ok, unsafe bool) {
	if len(value) == 0 {
		return "", false, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return "", false, false
	}
	switch v := v.(type) {
	case string:
		return v, true, false
	case bool:
		return fmt.Sprint(v), true, false
	case json.Number:
		var f float64
		if json.Unmarshal(value, &f) != nil {
			return "", false, true
		}
		n, exact := new(big.Int).SetString(v.String(), 10)
		if !exact {
			n, _ = big.NewFloat(f).Int(nil)
			if new(big.Float).SetInt(n).Cmp(big.NewFloat(f)) != 0 && n.IsInt64() && n.CmpAbs(big.NewInt(maxSafeInteger)) <= 0 {
				return v.String(), true, false
			}
		}
		return n.String(), true, n.CmpAbs(big.NewInt(maxSafeInteger)) > 0
	}
	return "", false, false
}

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
		{"items", `{"properties":{"a\nb":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`, "inputSchema.properties.a b.items: "},
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
