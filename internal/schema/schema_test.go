package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

func mustCompile(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile([]byte(raw))
	check.Require(t, err == nil, "compile %s: %v", excerpt.CutAt(raw, 200), err)
	return s
}

// .NET writes its attribute [MaxLength] without a number as maxLength -1.
func TestNegativeLimits(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"type":"string","minLength":-1,"maxLength":-1},"b":{"type":"array","maxItems":-1}},"maxProperties":-1}`)
	check.NoError(t, s.Validate([]byte(`{"a":"long","b":[1,2]}`)))
}

func TestCompileRefuses(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{
		{"not JSON", `{"type":`, "ends too early"},
		{"not a schema", `3`, `want a schema (an object or a boolean), got number 3`},
		{"subschema not a schema", `{"properties":{"a/b":"string"}}`, `at "/properties/a~1b": want a schema`},
		{"unknown type", `{"properties":{"a":{"type":"str"}}}`, `at "/properties/a": unknown type "str"`},
		{"negative number of parts", `{"properties":{"a":{"minContains":-1}}}`, `at "/properties/a": minContains -1: want a whole number that is not negative`},
		{"half a part", `{"maxItems":1.5}`, `maxItems 1.5: want a whole number`},
		{"dialect", `{"$schema":"https://example.com/mine"}`, "unsupported dialect; supported are 2020-12"},
		{"inner dialect", `{"properties":{"a":{"$schema":"http://json-schema.org/draft-03/schema"}}}`, "unsupported dialect"},
		{"dialect not a string", `{"$schema":1}`, "$schema: want a string"},
		{"foreign reference", `{"$ref":"https://example.com/s.json"}`, `$ref "https://example.com/s.json": not in the schema itself`},
		{"foreign reference by id", `{"$id":"https://example.com/a/","properties":{"p":{"$ref":"b"}}}`, `$ref "b"`},
		{"foreign dynamic reference", `{"$dynamicRef":"http://127.0.0.1:1/s.json#a"}`, "never fetched"},
		{"foreign reference by an inner id", `{"properties":{"p":{"$id":"http://127.0.0.1:1/","items":{"$ref":"other#/a"}}}}`, `$ref "other#/a"`},
		{"file reference", `{"$ref":"file:///etc/passwd"}`, "never fetched"},
		{"dangling reference", `{"properties":{"p":{"$ref":"#/$defs/none"}}}`, `$ref "#/$defs/none"`},
		{"bad keyword", `{"required":"a"}`, "schema: "},
		{"too large", `{"description":"` + strings.Repeat("x", MaxSize) + `"}`, "want at most 1048576"},
		{"too deep", strings.Repeat(`{"not":`, 70) + "true" + strings.Repeat("}", 70), "deeper than 64"},
		{"too many", `{"allOf":[` + strings.Repeat("true,", MaxSubschemas) + `true]}`, "too many subschemas"},
		{"huge exponent", `{"minimum":1e999999}`, "exponent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile([]byte(tt.schema))
			check.Text(t, err, tt.want)
			check.That(t, len(fmt.Sprint(err)) <= 1000, "got an error of %d bytes, want it short", len(fmt.Sprint(err)))
		})
	}
}

func TestCompileDialects(t *testing.T) {
	for _, dialect := range []string{
		"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft/2020-12/schema#",
		"https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema#",
		"http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-06/schema#",
		"http://json-schema.org/draft-04/schema#",
	} {
		s := mustCompile(t, `{"$schema":"`+dialect+`","definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n"}}}`)
		check.NoError(t, s.Validate([]byte(`{"a":1}`)), dialect)
		check.Text(t, s.Validate([]byte(`{"a":"1"}`)), "", dialect)
	}
}

// A keyword has the meaning of the declared dialect, and no meaning if that
// does not know it. The default dialect is 2020-12.
func TestKeywordsOfDialects(t *testing.T) {
	names := []string{
		"", `"$schema":"https://json-schema.org/draft/2020-12/schema",`, `"$schema":"https://json-schema.org/draft/2019-09/schema",`,
		`"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"http://json-schema.org/draft-06/schema#",`, `"$schema":"http://json-schema.org/draft-04/schema#",`,
	}
	for _, test := range []struct {
		keyword, value string
		refused        string // a letter for each dialect, from none to draft-04
	}{
		{`"const":1`, `2`, "yyyyyn"},
		{`"contains":{"type":"string"}`, `[1]`, "yyyyyn"},
		{`"propertyNames":{"maxLength":1}`, `{"ab":1}`, "yyyyyn"},
		{`"enum":[]`, `1`, "yyyyyy"},
		{`"enum":[],"not":{"type":"string"}`, `null`, "yyyyyy"},
		{`"properties":{"a":{"$ref":"#/definitions/n","enum":[]}},"definitions":{"n":{}}`, `{"a":1}`, "yyynnn"},
		{`"if":{"type":"integer"},"then":{"minimum":5}`, `1`, "yyyynn"},
		{`"if":{"type":"string"},"else":{"minimum":5}`, `1`, "yyyynn"},
		{`"dependentRequired":{"a":["b"]}`, `{"a":1}`, "yyynnn"},
		{`"dependentSchemas":{"a":{"required":["b"]}}`, `{"a":1}`, "yyynnn"},
		{`"unevaluatedProperties":false`, `{"a":1}`, "yyynnn"},
		{`"unevaluatedItems":false`, `[1]`, "yyynnn"},
		{`"contains":{},"maxContains":1`, `[1,2]`, "yyynnn"},
		{`"contains":{"type":"string"},"minContains":0`, `[1]`, "nnnyyn"},
		{`"prefixItems":[{"type":"string"}]`, `[1]`, "yynnnn"},
		{`"allOf":[{"properties":{"a":{"prefixItems":[{"type":"string"}]}}}]`, `{"a":[1]}`, "yynnnn"},
		{`"dependencies":{"a":["b"]}`, `{"a":1}`, "nn-yyy"},
		{`"items":[{"type":"string"}],"additionalItems":false`, `["a",1]`, "--yyyy"},
		{`"properties":{"a":{"$ref":"#/definitions/n","maximum":1}},"definitions":{"n":{"type":"integer"}}`, `{"a":5}`, "yyynnn"},
	} {
		for i, name := range names {
			if test.refused[i] == '-' { // no schema of that dialect, or left to validators
				continue
			}
			err := mustCompile(t, "{"+name+test.keyword+"}").Validate([]byte(test.value))
			refused := err != nil
			check.That(t, refused == (test.refused[i] == 'y'), "{%s%s} of %s: got %v", name, test.keyword, test.value, err)
		}
	}
}

// Root leaves out keywords that the declared dialect does not know.
func TestRootIsUnderstood(t *testing.T) {
	for in, want := range map[string]string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"prefixItems":{"prefixItems":[{"type":"string"}],"if":{}}},"const":{"prefixItems":1}}`: `{"$schema":"http://json-schema.org/draft-07/schema#","const":{"prefixItems":1},"properties":{"prefixItems":{"if":{}}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","dependencies":{"a":{"const":1},"b":["const"]},"allOf":[{"const":1}],"items":[{"const":1}]}`:         `{"$schema":"http://json-schema.org/draft-04/schema#","allOf":[{}],"dependencies":{"a":{},"b":["const"]},"items":[{}]}`,
		`{"$defs":{"a":{"$schema":"http://json-schema.org/draft-06/schema#","if":{}},"b":{"if":{}}}}`:                                                              `{"$defs":{"a":{"$schema":"http://json-schema.org/draft-06/schema#"},"b":{"if":{}}}}`,
	} {
		got, err := json.Marshal(mustCompile(t, in).Root())
		check.That(t, err == nil && string(got) == want, "got  %s, %v\nwant %s", got, err, want)
	}
}

// Schemas and values that were judged wrongly by a simpler check.
func TestValidate(t *testing.T) {
	mustCompile(t, `{"$id":"https://example.com/shared","type":"string"}`)
	for schema, values := range map[string]struct{ fit, refused string }{
		// A keyword's word is data inside const, enum, default and examples, and a name inside properties.
		`{"const":{"$ref":"https://example.com/","$schema":"x","pattern":"(?=a)"},"default":{"type":"nonsense"},
			"properties":{"$ref":{"type":"string"},"contentEncoding":true,"pattern":true}}`: {fit: `{"$ref":"https://example.com/","$schema":"x","pattern":"(?=a)"}`},
		`{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"}`: {fit: `"not base64 at all"`},
		`{"type":"integer","maximum":9007199254740993}`:                               {`9007199254740993`, `9007199254740994`}, // float64 has one value for both
		`{"multipleOf":0.1}`: {`0.3`, `0.31`},
		`{"const":1}`:        {`1.0`, `1.1`},
		`{"$id":"https://example.com/shared","type":"integer"}`:                                                        {`1`, `"the other schema of this name"`},
		`{"$id":"http://127.0.0.1:1/root","$ref":"http://127.0.0.1:1/root#/$defs/n","$defs":{"n":{"type":"integer"}}}`: {`1`, `"x"`},
		`{"$ref":"#"}`: {fit: `1`}, // a loop that says nothing
	} {
		s := mustCompile(t, schema)
		check.NoError(t, s.Validate([]byte(values.fit)), schema)
		if values.refused != "" {
			check.Text(t, s.Validate([]byte(values.refused)), "", schema)
		}
	}
	check.Text(t, check.Err(Compile([]byte(`{"$ref":"https://example.com/shared"}`))), "not in the schema itself")
}

func TestNetworkIsNeverReached(t *testing.T) {
	check.Equal(t, "loaders", len(newCompiler().Loaders), 0)
}

func TestWorkIsBounded(t *testing.T) {
	bomb := `{"$ref":"#/$defs/d0","$defs":{"d40":{}`
	for i := range 40 {
		bomb += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	const enum, alternatives = `{"items":{"anyOf":[{"enum":[%s]},{"type":"integer"}]}}`, `{"anyOf":[%s,{}]}`
	names, text := many(20_000, `"n%d"`), `"`+strings.Repeat("ab", 50_000)+`"`
	for schema, value := range map[string]string{
		bomb + `}}`: `1`,
		`{"$defs":{"n":{"properties":{"c":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`: strings.Repeat(`{"c":`, 60) + `1` + strings.Repeat(`}`, 60),
		fmt.Sprintf(alternatives, many(5000, `{"type":"null"}`)):                                                        text,
		fmt.Sprintf(alternatives, many(5000, `{"pattern":"a$"}`)):                                                       text,
		`{"patternProperties":{` + many(2000, `"a%d$":{}`) + `}}`:                                                       `{` + text + `:1}`,
		fmt.Sprintf(enum, names):                                         `[` + many(5000, `"x"`) + `,1]`,
		`{"items":{"required":[` + names + `]}}`:                         `[` + many(5000, `{}`) + `]`,
		`{"items":{"enum":["` + strings.Repeat("long", 100_000) + `"]}}`: `[` + many(5000, `"x"`) + `,1]`,
	} {
		check.Text(t, mustCompile(t, schema).Validate([]byte(value)), "too large to be checked")
	}
	check.NoError(t, mustCompile(t, fmt.Sprintf(enum, names)).Validate([]byte(`["n1","n19999",7]`)), "a few values of many")
	check.NoError(t, mustCompile(t, fmt.Sprintf(alternatives, many(5000, `{"type":"null"}`))).Validate([]byte(`"ab"`)), "a short text, many alternatives")
}

// The work of a dynamic reference can be foreseen only if it has one target.
func TestDynamicAnchorDeclaredTwice(t *testing.T) {
	const refs = `"allOf":[{"$dynamicRef":"leaf#n"},{"$dynamicRef":"leaf#n"}]`
	for name, schema := range map[string]string{
		"2020-12": `{"$id":"https://a.example/s","$dynamicAnchor":"n","properties":{"c":{` + refs + `}},
			"$defs":{"leaf":{"$id":"leaf","$dynamicAnchor":"n"}}}`,
		"2019-09": `{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://a.example/s","$recursiveAnchor":true,
			"properties":{"c":{"$ref":"leaf"}},"$defs":{"leaf":{"$id":"leaf","$recursiveAnchor":true,"allOf":[{"$recursiveRef":"#"}]}}}`,
		"both": `{"$dynamicAnchor":"__jsonschema_recursive_anchor__","$defs":{"leaf":{"$id":"https://a.example/leaf","$recursiveAnchor":true}}}`,
	} {
		check.Text(t, check.Err(Compile([]byte(schema))), "declared already", name)
	}
	tree := mustCompile(t, `{"$dynamicAnchor":"n","properties":{"c":{"allOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}]}}}`)
	check.NoError(t, tree.Validate([]byte(`{"c":{"c":{"c":1}}}`)))
	check.Text(t, tree.Validate([]byte(strings.Repeat(`{"c":`, 60)+`1`+strings.Repeat(`}`, 60))), "too large to be checked")
}

func TestDecodeBounds(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), "deeper than 64"},
		{"digits", strings.Repeat("1", 1001), "digits"}, {"exponent", `[1e1001]`, "exponent"},
		{"large exponent", `1e100000`, "exponent"}, {"negative exponent", `[-1E-1001]`, "exponent"},
		{"trailing", `{} {}`, "more text after the value"}, {"empty", ` `, "ends too early"},
	} {
		check.Text(t, check.Err(Decode([]byte(tt.value))), tt.want, tt.name)
	}
	for _, value := range []string{`1e1000`, `[1E-1000]`, strings.Repeat("1", 1000)} {
		check.NoError(t, check.Err(Decode([]byte(value))), excerpt.CutAt(value, 20))
	}
	v := check.Value(Decode([]byte(`{"a":12345678901234567890,"a":1e2}`)))(t)
	check.Equal(t, "the last member, its digits untouched", v.(map[string]any)["a"], any(json.Number("1e2")))
}

func FuzzCompileAndValidate(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":"x"}`)
	f.Add(`{"$ref":"#","anyOf":[true,false]}`, `[]`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","id":"#a","items":[{"$ref":"#a"}]}`, `[[[1]]]`)
	f.Add(`{"$dynamicRef":"#x","$dynamicAnchor":"x","unevaluatedProperties":false}`, `{"a":null}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile([]byte(schema))
		if err != nil {
			return
		}
		invalid := s.Validate([]byte(value))
		switch {
		case invalid == nil && !json.Valid([]byte(value)):
			t.Errorf("got no error for %q", value)
		case invalid != nil && (invalid.Error() == "" || len(invalid.Error()) > 16<<10):
			t.Errorf("got an error of %d bytes", len(invalid.Error()))
		}
		again := check.Value(Compile([]byte(schema)))(t)
		for _, other := range []*Schema{s, again} {
			err := other.Validate([]byte(value))
			check.That(t, (err == nil) == (invalid == nil), "got %v, and before that %v", err, invalid)
		}
	})
}

func TestViolation(t *testing.T) {
	const person = `{
		"type":"object","required":["name"],"additionalProperties":false,
		"properties":{
			"name":{"type":"string","minLength":2},
			"age":{"type":"integer","minimum":0,"exclusiveMaximum":150},
			"unit":{"enum":["C","F",null]},
			"kind":{"const":"person"},
			"tags":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true},
			"a/b~c":{"type":["boolean","null"]},
			"id":{"anyOf":[{"type":"integer"},{"type":"object","required":["v"],"properties":{"v":{"type":"string"}}}]},
			"zip":{"type":"string","pattern":"^[0-9]{5}$"},
			"parent":{"$ref":"#"}
		}}`
	for _, tt := range []struct{ name, schema, value, path, message string }{
		{"type", person, `{"name":7}`, "/name", `want string, got number 7`},
		{"types", person, `{"name":"Al","a/b~c":"x"}`, "/a~1b~0c", `want boolean or null, got string "x"`},
		{"root", person, `[]`, "", `want object, got array of 0`},
		{"missing", person, `{}`, "", `missing required property "name"`},
		{"missing with a wrong sibling", person, `{"age":"x"}`, "", `missing required property "name"`},
		{"unknown", `{"properties":{"b":true,"a":true},"additionalProperties":false}`, `{"c":1}`, "", `unknown property "c"; known are "a", "b"`},
		{"minimum", person, `{"name":"Al","age":-1}`, "/age", `want a number >= 0, got number -1`},
		{"exclusive maximum", person, `{"name":"Al","age":150}`, "/age", `want a number < 150, got number 150`},
		{"enum", person, `{"name":"Al","unit":"K"}`, "/unit", `want one of "C", "F", null, got string "K"`},
		{"const", person, `{"name":"Al","kind":1}`, "/kind", `want "person", got number 1`},
		{"length", person, `{"name":"A"}`, "/name", `want at least 2 characters, got 1`},
		{"items", person, `{"name":"Al","tags":["a",1]}`, "/tags/1", `want string, got number 1`},
		{"too many", person, `{"name":"Al","tags":["a","b","c"]}`, "/tags", `want at most 2 items, got 3`},
		{"not unique", person, `{"name":"Al","tags":["a","a"]}`, "/tags", `want distinct items, but those at 0 and 1 are equal`},
		{"pattern", person, `{"name":"Al","zip":"1"}`, "/zip", `want text that matches the regular expression ^[0-9]{5}$, got string "1"`},
		{"reference", person, `{"name":"Al","parent":{"name":"Bo","parent":{"name":1}}}`, "/parent/parent/name", `want string, got number 1`},
		{"any of", person, `{"name":"Al","id":{"v":1}}`, "/id", `fits none of 2 alternatives: (1) want integer, got object of 1; (2) at "/v": want string, got number 1`},
		{"several of one of", `{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `3`, "", `want a value that fits exactly one alternative, but it fits several (0, 1, counted from 0)`},
		{"property name", `{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, "", `property name "abc": want at most 2 characters, got 3`},
		{"then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "", `missing required property "b"`},
		{"all of", `{"allOf":[{},{"properties":{"a":{"type":"null"}}}]}`, `{"a":1}`, "/a", `want null, got number 1`},
		{"dependent", `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, "", `missing required property "b"`},
		{"unevaluated", `{"properties":{"a":true},"unevaluatedProperties":false}`, `{"b":1}`, "", `unknown property "b"; known are "a"`},
		{"pattern property", `{"patternProperties":{"^x":{"type":"string"}}}`, `{"x1":2}`, "/x1", `want string, got number 2`},
		{"false", `{"properties":{"a":false}}`, `{"a":2}`, "/a", `no value is allowed here, got number 2`},
		{"not", `{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"x"}`, "/a", `want a value that "not" does not exclude, got string "x"`},
		{"an enumeration of nothing", `{"properties":{"a":{"enum":[]}}}`, `{"a":"x"}`, "/a", `no value is allowed here, got string "x"`},
		{"first by path", `{"items":{"type":"string"}}`, `["",1,2,3,4,5,6,7,8,9,10,11]`, "/1", `want string, got number 1`},
		{"tuple", `{"prefixItems":[true,{"type":"string"}]}`, `[1,2]`, "/1", `want string, got number 2`},
		{"draft 4 bound", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":3,"exclusiveMinimum":true}`, `3`, "", `want a number > 3, got number 3`},
		{"draft 7 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, "/0", `want string, got number 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			// The validator walks maps in random order.
			for range 20 {
				var got *Violation
				err := s.Validate([]byte(tt.value))
				check.Require(t, errors.As(err, &got) && got.Path == tt.path && got.Message == tt.message, "got %v\nwant %q %s", err, tt.path, tt.message)
			}
		})
	}
}

// A long name does not make the paths below it long.
func TestPlacesAreBounded(t *testing.T) {
	const maxMemory = 100 << 20
	long := strings.Repeat("x", 200_000)
	var s *Schema
	var err error
	used := check.Allocated(func() {
		s = mustCompile(t, `{"properties":{"`+long+`":{"allOf":[`+strings.Repeat(`{"pattern":"(?!x)"},`, 3000)+`{"items":{"type":"string"}}]}}}`)
		err = s.Validate([]byte(`{"` + long + `":[` + strings.Repeat("1,", 3000) + `1]}`))
	})
	check.That(t, used <= maxMemory, "got %d bytes of memory, want at most %d", used, maxMemory)
	check.Equal(t, "the place without the long name", fmt.Sprint(err), `at "/…/0": want string, got number 1`)
	got := s.Ignored()
	check.That(t, len(got) == 3000 && got[0] == "/properties/…/allOf/0/pattern", "got %.10q, want places without the long name", got)
}

func TestViolationIsShort(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	s := mustCompile(t, `{"enum":["`+long+`","b"],"required":["`+long+`"]}`)
	for _, value := range []string{`"` + long + `x"`, `{}`, `{"` + long + `x":1}`} {
		err := s.Validate([]byte(value))
		check.That(t, err != nil && len(err.Error()) <= 1000, "got %.2000v, want an error of at most 1000 bytes", err)
	}
}
