package forms

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func form(properties string, required ...string) *mcp.ElicitParams {
	names, _ := json.Marshal(append([]string{}, required...))
	raw := fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s}`, properties, names)
	return &mcp.ElicitParams{Mode: mcp.ElicitForm, RequestedSchema: json.RawMessage(raw)}
}

func TestFields(t *testing.T) {
	options := []Option{{Value: "a", Title: "Alpha"}, {Value: "b", Title: "Beta"}}
	plain := []Option{{Value: "a", Title: "a"}, {Value: "b", Title: "b"}}
	for _, tt := range []struct {
		name, property string
		want           Field
	}{
		{"string", `{"type":"string"}`, Field{Title: "x", Kind: KindString}},
		{"string with everything",
			`{"type":"string","title":"T","description":"D","minLength":1,"maxLength":5.0,"format":"email","pattern":"^a","default":"a@b.c"}`,
			Field{Title: "T", Description: "D", Kind: KindString, Min: new(1.0), Max: new(5.0), Format: "email", Pattern: "^a", Default: "a@b.c"}},
		{"a format of the server's own", `{"type":"string","format":"color","default":"red"}`, Field{Title: "x", Kind: KindString, Format: "color", Default: "red"}},
		{"number", `{"type":"number","minimum":-0.5,"maximum":1e3,"default":0.1}`,
			Field{Title: "x", Kind: KindNumber, Min: new(-0.5), Max: new(1e3), Default: 0.1}},
		{"integer", `{"type":"integer","minimum":1,"maximum":9223372036854775807,"default":9007199254740993}`,
			Field{Title: "x", Kind: KindInteger, Min: new(1.0), Max: new(float64(1 << 63)), Default: int64(9007199254740993)}},
		{"boolean", `{"type":"boolean","default":false}`, Field{Title: "x", Kind: KindBoolean, Default: false}},
		{"enum", `{"type":"string","enum":["a","b"],"default":"b"}`, Field{Title: "x", Kind: KindChoice, Options: plain, Default: "b"}},
		{"enum with names", `{"type":"string","enum":["a","b"],"enumNames":["Alpha","Beta"]}`, Field{Title: "x", Kind: KindChoice, Options: options}},
		{"titled choice", `{"type":"string","oneOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"}],"default":"a"}`,
			Field{Title: "x", Kind: KindChoice, Options: options, Default: "a"}},
		{"choice without titles", `{"type":"string","oneOf":[{"const":"a"},{"const":"b","title":""}]}`, Field{Title: "x", Kind: KindChoice, Options: plain}},
		{"choices", `{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2,"default":["b","a"]}`,
			Field{Title: "x", Kind: KindChoices, Options: plain, Min: new(1.0), Max: new(2.0), Default: []string{"b", "a"}}},
		{"titled choices", `{"type":"array","items":{"anyOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"}]},"default":[]}`,
			Field{Title: "x", Kind: KindChoices, Options: options, Default: []string{}}},
		{"null is absent", `{"type":"string","title":null,"enum":null,"minLength":null,"default":null}`, Field{Title: "x", Kind: KindString}},
		{"keywords have one spelling", `{"type":"string","Title":"T","MINLENGTH":-1}`, Field{Title: "x", Kind: KindString}},

		{"default of another type", `{"type":"string","default":5}`, Field{Title: "x", Kind: KindString}},
		{"default out of bounds", `{"type":"integer","minimum":1,"default":0}`, Field{Title: "x", Kind: KindInteger, Min: new(1.0)}},
		{"default with a fraction", `{"type":"integer","default":1.5}`, Field{Title: "x", Kind: KindInteger}},
		{"default that is not an option", `{"type":"string","enum":["a","b"],"default":"c"}`, Field{Title: "x", Kind: KindChoice, Options: plain}},
		{"default of the wrong format", `{"type":"string","format":"date","default":""}`, Field{Title: "x", Kind: KindString, Format: "date"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := check.Value(Fields(form(`"x":` + tt.property)))(t)
			tt.want.Name = "x"
			check.Same(t, "", got, []*Field{&tt.want})
		})
	}
}

func TestFieldsKeepOrder(t *testing.T) {
	var properties, want []string
	for i := range maxFields {
		name := fmt.Sprint("f", (i*7919)%1000)
		want = append(want, name)
		properties = append(properties, fmt.Sprintf(`%q:{"type":"boolean"}`, name))
	}
	fields := check.Value(Fields(form(strings.Join(properties, ","), want[3], want[5])))(t)
	var got []string
	for i, f := range fields {
		got = append(got, f.Name)
		check.Equal(t, f.Name+" is required", f.Required, i == 3 || i == 5)
	}
	check.Same(t, "", got, want)
}

func TestFieldsOfEmptyForms(t *testing.T) {
	for _, schema := range []string{`{"type":"object"}`, `{"type":"object","properties":{}}`, ` {"type":"object","properties":null,"$schema":"s","additionalProperties":false}`, `{}`} {
		got, err := Fields(&mcp.ElicitParams{RequestedSchema: json.RawMessage(schema)})
		check.NoError(t, err, schema)
		check.Equal(t, schema, len(got), 0)
	}
}

func TestFieldsRefuses(t *testing.T) {
	many := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	manyFields, manyOptions := many(maxFields+1, `"x%d":{"type":"boolean"}`), many(maxFieldOptions+1, `"%d"`)
	largePatterns := many(199, `"x%d":{"type":"string","pattern":"(ab?){330}"}`)
	manyPatterns := many(9, `"x%d":{"type":"string","pattern":"`+strings.Repeat("a", 1000)+`"}`)
	field := func(property string) string { return `{"type":"object","properties":{"x":` + property + `}}` }
	for _, tt := range []struct{ name, schema, want string }{
		{"nothing", ``, `requested schema: want a JSON object`},
		{"not JSON", `{"type"`, `requested schema: want a JSON object`},
		{"a list", `[]`, `requested schema: want a JSON object`},
		{"another type", `{"type":"string"}`, `requested schema: type: want "object"`},
		{"a union", `{"type":"object","anyOf":[]}`, `requested schema: anyOf: want a flat list of properties instead`},
		{"a reference", `{"$ref":"#/$defs/x"}`, `requested schema: $ref: want a flat list of properties instead`},
		{"properties twice", `{"properties":{},"properties":{}}`, `requested schema: "properties" appears twice`},
		{"a field twice", `{"properties":{"x":{"type":"boolean"},"x":{"type":"string"}}}`, `requested schema: properties: "x" appears twice`},
		{"properties as a list", `{"type":"object","properties":[]}`, `requested schema: properties: want a JSON object`},
		{"required as a string", `{"type":"object","required":"x"}`, `requested schema: required: want a list of strings`},
		{"required with null", `{"type":"object","required":[null]}`, `requested schema: required: want a list of strings`},
		{"required but absent", `{"type":"object","required":["x"]}`, `requested schema: field "x": required, but not among the properties`},
		{"too long", `{"description":"` + strings.Repeat("x", maxFormSchema) + `"}`, fmt.Sprintf(`requested schema: %d bytes, want at most 262144`, maxFormSchema+18)},
		{"too many fields", `{"properties":{` + manyFields + `}}`, `requested schema: 201 fields, want at most 200`},

		{"a field that is true", field(`true`), `requested schema: field "x": want a JSON object`},
		{"no type", field(`{}`), `requested schema: field "x": type: want string, number, integer, boolean, or array of options: forms are flat`},
		{"nested", field(`{"type":"object","properties":{}}`), `requested schema: field "x": type: want string, number, integer, boolean, or array of options: forms are flat`},
		{"null", field(`{"type":"null"}`), `requested schema: field "x": type: want string, number, integer, boolean, or array of options: forms are flat`},
		{"several types", field(`{"type":["string","null"]}`), `requested schema: field "x": type: want a string`},
		{"a reference in a field", field(`{"$ref":"#/$defs/x"}`), `requested schema: field "x": type: want string, number, integer, boolean, or array of options: forms are flat`},
		{"a title that is a number", field(`{"type":"string","title":1}`), `requested schema: field "x": title: want a string`},
		{"a negative length", field(`{"type":"string","minLength":-1}`), `requested schema: field "x": minLength: want a whole number, at least 0`},
		{"half a character", field(`{"type":"string","maxLength":0.5}`), `requested schema: field "x": maxLength: want a whole number, at least 0`},
		{"a length that is text", field(`{"type":"string","maxLength":"5"}`), `requested schema: field "x": maxLength: want a number`},
		{"a pattern that RE2 does not know", field(`{"type":"string","pattern":"(?=x)"}`), `requested schema: field "x": pattern: want a regular expression in RE2 syntax, of moderate size`},
		{"a long pattern", field(`{"type":"string","pattern":"` + strings.Repeat("a", maxPattern+1) + `"}`), `requested schema: field "x": pattern: want at most 1024 bytes`},
		{"long patterns", `{"properties":{` + manyPatterns + `}}`, `requested schema: field "x8": pattern: more than 8192 bytes of patterns in the form`},
		{"large patterns", `{"properties":{` + largePatterns + `}}`, `requested schema: field "x126": pattern: patterns up to here compile to more than 250000 instructions together: want fewer of them, or shorter repetitions`},
		{"a bound beyond numbers", field(`{"type":"number","minimum":1e999}`), `requested schema: field "x": minimum: want a number`},
		{"enum of numbers", field(`{"type":"integer","enum":[1,2]}`), `requested schema: field "x": enum: want a type of string, or of array with the enum in its items`},
		{"numbers in a string enum", field(`{"type":"string","enum":["a",1]}`), `requested schema: field "x": enum: want a list of strings`},
		{"null in an enum", field(`{"type":"string","enum":["a",null]}`), `requested schema: field "x": enum: want a list of strings`},
		{"empty enum", field(`{"type":"string","enum":[]}`), `requested schema: field "x": options: want 1 to 1000 in enum, oneOf or anyOf`},
		{"too few names", field(`{"type":"string","enum":["a","b"],"enumNames":["A"]}`), `requested schema: field "x": enumNames: want as many as enum has`},
		{"an option twice", field(`{"type":"string","enum":["a","a"]}`), `requested schema: field "x": options: want "a" only once`},
		{"enum and oneOf", field(`{"type":"string","enum":["a"],"oneOf":[{"const":"a"}]}`), `requested schema: field "x": oneOf: want no second list of options`},
		{"an option without const", field(`{"type":"string","oneOf":[{"title":"A"}]}`), `requested schema: field "x": oneOf: want options with a const, and a title, that are strings`},
		{"an option of another type", field(`{"type":"string","anyOf":[{"type":"string"},{"type":"null"}]}`), `requested schema: field "x": anyOf: want options with a const, and a title, that are strings`},
		{"a list without items", field(`{"type":"array"}`), `requested schema: field "x": items: want a JSON object`},
		{"a list of any text", field(`{"type":"array","items":{"type":"string"}}`), `requested schema: field "x": items: options: want 1 to 1000 in enum, oneOf or anyOf`},
		{"a list of numbers", field(`{"type":"array","items":{"type":"number","enum":[1]}}`), `requested schema: field "x": items: type: want string; the options are`},
		{"too many options", field(`{"type":"string","enum":[` + manyOptions + `]}`), `requested schema: field "x": options: want 1 to 1000 in enum, oneOf or anyOf`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Fields(&mcp.ElicitParams{RequestedSchema: json.RawMessage(tt.schema)})
			check.Equal(t, "", fmt.Sprint(err), tt.want)
		})
	}
}

func FuzzFields(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":1,"pattern":"^a","format":"email","default":"a@b.c"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":5,"default":3},"b":{"type":"boolean"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"enumNames":["X","Y"],"default":"y"}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]}}}`,
		`{"properties":{"a":{"type":"number","default":1e-999999999}}}`,
	} {
		f.Add([]byte(schema), "x")
	}
	f.Fuzz(func(t *testing.T, schema []byte, text string) {
		p := &mcp.ElicitParams{Mode: mcp.ElicitForm, RequestedSchema: schema}
		fields, err := Fields(p)
		if err != nil {
			return
		}
		content := map[string]any{}
		for _, f := range fields {
			if f.Default != nil {
				check.NoError(t, f.Check(f.Default), f.Name)
			}
			if v, err := f.Parse(text); err == nil {
				check.NoError(t, f.Check(v), f.Name)
				content[f.Name] = v
			}
		}
		once, err := Complete(p, &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content})
		if err != nil {
			return // a required field has no answer
		}
		raw := check.Value(json.Marshal(once))(t)
		var received mcp.ElicitResult
		check.Must(t, json.Unmarshal(raw, &received))
		for name := range once.Content {
			_, ok := received.Content[name]
			check.That(t, ok, "field %q is lost on the way: %s", name, raw)
		}
		twice, err := Complete(p, once)
		check.That(t, err == nil && reflect.DeepEqual(once, twice),
			"got %#v, %v for a complete answer, want it unchanged: %#v", twice, err, once)
	})
}

func ExampleFields() {
	params := &mcp.ElicitParams{
		Mode:    mcp.ElicitForm,
		Message: "Where to?",
		RequestedSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"city":   {"type": "string", "title": "City", "minLength": 2},
				"nights": {"type": "integer", "minimum": 1, "maximum": 30, "default": 2},
				"room":   {"type": "string", "oneOf": [{"const": "s", "title": "Single"}, {"const": "d", "title": "Double"}]}
			},
			"required": ["city"]
		}`),
	}
	fields, err := Fields(params)
	if err != nil {
		fmt.Println(err)
		return
	}
	typed := map[string]string{"city": "Lisbon", "nights": "", "room": "double"}
	for _, f := range fields {
		value, err := f.Parse(typed[f.Name])
		fmt.Println(f.Title, value, err)
	}
	_, err = fields[1].Parse("31")
	fmt.Println(err)
	// Output:
	// City Lisbon <nil>
	// nights 2 <nil>
	// room d <nil>
	// field "nights": want a whole number, at least 1, at most 30
}

// A pattern with a long text can take minutes.
func TestPatternsThatTakeLong(t *testing.T) {
	large := "(?:a|b)" + strings.Repeat("a{0,900}", 5)
	for _, tt := range []struct {
		pattern string
		size    int
		kept    bool
	}{
		{large, 500, true},
		{large, 250_000, false}, // over 1<<31 together
		{"^a+$", 100_000, true},
	} {
		fields, err := Fields(form(fmt.Sprintf(`"x":{"type":"string","pattern":%q,"default":%q}`, tt.pattern, strings.Repeat("a", tt.size))))
		check.Must(t, err)
		check.Equal(t, fmt.Sprintf("default of %d bytes for a pattern of %d is kept", tt.size, len(tt.pattern)), fields[0].Default != nil, tt.kept)
	}

	twenty := make([]string, 20)
	for i := range twenty {
		twenty[i] = fmt.Sprintf(`"x%d":{"type":"string","pattern":%q,"default":%q}`, i, large, strings.Repeat("a", 500))
	}
	fields := check.Value(Fields(form(strings.Join(twenty, ","))))(t)
	check.That(t, fields[0].Default != nil && fields[19].Default == nil,
		"want the first default, and not the last, which are bounded together")

	f := Field{Kind: KindString, Pattern: large + "c"}
	check.NoError(t, f.Check(strings.Repeat("a", 250_000)), "a match that takes long is the server's to check")
}
