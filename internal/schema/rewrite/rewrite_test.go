package rewrite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/schema"
)

func decode(t *testing.T, raw string) map[string]any {
	t.Helper()
	v, err := schema.Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestFor(t *testing.T) {
	for _, tt := range []struct {
		name     string
		target   Target
		in, want string
		changes  []string // path keyword effect
	}{
		{"as it is", OpenAI, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, nil},
		{"array", OpenAI, `{"type":"object","properties":{"a":{"type":["array","null"]}}}`,
			`{"type":"object","properties":{"a":{"type":["array","null"],"items":{}}}}`, []string{"/properties/a items same"}},
		{"draft-04", Anthropic, `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"minimum":0,"exclusiveMinimum":true},"b":{"items":[{"type":"string"}],"additionalItems":false}}}`,
			`{"type":"object","properties":{"a":{"exclusiveMinimum":0},"b":{"prefixItems":[{"type":"string"}],"items":false}}}`,
			[]string{"/properties/a exclusiveMinimum same", "/properties/b items same"}},
		{"llama.cpp", LlamaCpp, `{"type":"object","properties":{"a":{"type":"string","minLength":3000,"maxLength":999},"b":{"type":"array","prefixItems":[{"type":"string"}],"items":false,"minItems":1},"c":{"type":"integer","maximum":1e308,"minimum":1},"d":{"type":"string","pattern":"^(a$"},"e":{"type":"string","pattern":"^[a-z]{2,40}$"},"f":true}}`,
			`{"type":"object","properties":{"a":{"type":"string","maxLength":999,"description":"(minLength: 3000)"},"b":{"type":"array","prefixItems":[{"type":"string"}],"maxItems":1,"minItems":1},"c":{"type":"integer","minimum":1,"description":"(maximum: 1e308)"},"d":{"type":"string","description":"(pattern: \"^(a$\")"},"e":{"type":"string","pattern":"^[a-z]{2,40}$"},"f":{}}}`,
			[]string{"/properties/f  same", "/properties/a minLength wider", "/properties/b items same", "/properties/c maximum wider", "/properties/d pattern wider"}},
		{"llama.cpp takes all of this", LlamaCpp, `{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$","minLength":1},"b":{"type":"array"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$","minLength":1},"b":{"type":"array"}}}`, nil},
		{"draft-04, not exclusive", OpenAI, `{"type":"object","properties":{"a":{"maximum":0,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"a":{"maximum":0}}}`, []string{"/properties/a exclusiveMaximum same"}},
		{"nothing enumerated", OpenAI, `{"type":"object","properties":{"a":{"enum":[]}}}`,
			`{"type":"object","properties":{"a":{"not":{}}}}`, []string{"/properties/a enum same"}},
		{"beside references of draft-07", OpenAI, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/d","title":"T","maximum":1},"l":{"type":"array"}},"definitions":{"d":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/definitions/d","title":"T"},"l":{"type":"array","items":{}}},"definitions":{"d":{"type":"integer"}}}`,
			[]string{"/properties/a maximum same", "/properties/l items same"}},
		{"beside references of 2019-09", OpenAI, `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"$ref":"#/$defs/d","maximum":1},"l":{"type":"array"}},"$defs":{"d":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/d","maximum":1},"l":{"type":"array","items":{}}},"$defs":{"d":{"type":"integer"}}}`,
			[]string{"/properties/l items same"}},
		{"a dialect inside", OpenAI, `{"type":"object","properties":{"a":{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"array","items":[{"type":"integer"}],"additionalItems":false}}}`,
			`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"integer"}],"items":false}}}`, []string{"/properties/a items same"}},
		{"a draft inside", Anthropic, `{"type":"object","properties":{"a b":{},"c":{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"$ref":"#/$defs/d","maximum":1}]}},"$defs":{"d":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a_b":{},"c":{"allOf":[{"$ref":"#/$defs/d"}]}},"$defs":{"d":{"type":"integer"}}}`,
			[]string{"/properties/c/allOf/0 maximum same", "/properties/a b  same"}},
		{"types of a root that is referred to", OpenAI, `{"type":["object","null"],"properties":{"a":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#"}}}`, []string{" type narrower"}},
		{"bounds of two parts", GoogleAI, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"allOf":[{"maxItems":5},{"maxItems":3}]}}}`,
			`{"properties":{"a":{"description":"(maxItems: 3)","items":{"type":"string"},"type":"array"}},"type":"object"}`,
			[]string{"/properties/a allOf same", "/properties/a maxItems wider"}},
		{"unevaluated items without a type", Gemini, `{"type":"object","properties":{"a":{"unevaluatedItems":{"type":"string"}}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`,
			[]string{"/properties/a type narrower", "/properties/a unevaluatedItems same"}},
		{"a root of any properties", OpenAIStrict, `{"type":"object","additionalProperties":true}`,
			`{"type":"object","properties":{},"additionalProperties":true}`, []string{" properties same"}},
		{"a root without properties", OpenAIStrict, `{"type":"object"}`,
			`{"type":"object","properties":{},"required":[],"additionalProperties":false}`, nil},
		{"a map whose names are limited", OpenAIStrict, `{"type":"object","properties":{"a":{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{"type":"string"}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{"type":"string"}}}}`,
			[]string{"/properties/a additionalProperties same"}},
		{"a map without a type", OpenAIStrict, `{"type":"object","properties":{"a":{"properties":{"b":{"type":"string"}},"additionalProperties":{"type":"string"}}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"properties":{"b":{"type":"string"}},"additionalProperties":{"type":"string"}}},"required":["a"]}`,
			[]string{"/properties/a additionalProperties same"}},
		{"others beside a reference", OpenAIStrict, `{"type":"object","properties":{"a":{"$ref":"#/$defs/d","additionalProperties":false}},"required":["a"],"$defs":{"d":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/d","additionalProperties":false}},"required":["a"],"$defs":{"d":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			[]string{"/properties/a $ref same"}},
		{"booleans", OpenAI, `{"type":"object","properties":{"a":true,"b":false}}`,
			`{"type":"object","properties":{"a":{},"b":{"not":{}}}}`, []string{"/properties/a  same", "/properties/b  same"}},
		{"names", Anthropic, `{"type":"object","properties":{"a b":{},"a_b":{},"$c":{}},"required":["a b","a_b"]}`,
			`{"type":"object","properties":{"a_b_c8687a08":{},"a_b":{},"_c":{}},"required":["a_b_c8687a08","a_b"]}`,
			[]string{"/properties/$c  same", "/properties/a b  same"}},
		{"an encoded reference to a definition", OpenAIStrict, `{"type":"object","properties":{"a":{"$ref":"#/%24defs/d"}},"required":["a"],"additionalProperties":false,"$defs":{"d":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"required":["a"],"additionalProperties":false,"$defs":{"d":{"type":"string"}}}`, []string{"/properties/a $ref same"}},
		{"root reference", OpenAI, `{"$ref":"#/$defs/r","$defs":{"r":{"type":"object","properties":{"x":{"$ref":"#/$defs/r"}}}}}`,
			`{"type":"object","properties":{"x":{"$ref":"#/$defs/r"}},"$defs":{"r":{"type":"object","properties":{"x":{"$ref":"#/$defs/r"}}}}}`, []string{" $ref same"}},
		{"root that refers to itself", OpenAI, `{"$ref":"#"}`,
			`{"properties":{},"type":"object"}`,
			[]string{" $ref same"}},
		{"root alternatives", Anthropic, `{"oneOf":[{"properties":{"k":{"const":"a"},"x":{}},"required":["k","x"]},{"properties":{"k":{"const":"b"},"y":{}},"required":["k","y"]}]}`,
			`{"type":"object","description":"Give all arguments in \"input\".","properties":{"input":{"type":"object","oneOf":[{"properties":{"k":{"const":"a"},"x":{}},"required":["k","x"]},{"properties":{"k":{"const":"b"},"y":{}},"required":["k","y"]}]}},"required":["input"],"additionalProperties":false}`,
			[]string{"  same"}},
		{"root alternatives for langchaingo", GoogleAI, `{"oneOf":[{"properties":{"k":{"const":"a"},"x":{"type":"string"}},"required":["k","x"]},{"properties":{"k":{"const":"b"},"y":{"type":"string"}},"required":["k","y"]}]}`,
			`{"properties":{"k":{"description":"(one of: a)","type":"string"},"x":{"type":"string"}},"required":["k","x"],"type":"object"}`,
			[]string{" oneOf same", "/oneOf/0/properties/k const same", "/oneOf/0/properties/k const wider", " oneOf narrower"}},
		{"references of a root that is wrapped", OpenAI, `{"$id":"https://x/s","properties":{"a":{"$ref":"#/$defs/d"},"b":{"$ref":"#/properties/a"},"c":{"items":{"$ref":"#"}},"$ref":{"const":{"$ref":"#"}},"d":{"$ref":"https://x/s#/properties/c"},"input":{"$id":"y","$ref":"#"}},"not":{"required":["a"]},"$defs":{"d":{"$ref":"#/properties/b"}}}`,
			`{"$id":"https://x/s","type":"object","description":"Give all arguments in \"input2\".","properties":{"input2":{"type":"object","properties":{"a":{"$ref":"#/$defs/d"},"b":{"$ref":"#/properties/input2/properties/a"},"c":{"items":{"$ref":"#/properties/input2"}},"$ref":{"const":{"$ref":"#"}},"d":{"$ref":"#/properties/input2/properties/c"},"input":{"$id":"y","$ref":"#"}},"not":{"required":["a"]}}},"required":["input2"],"additionalProperties":false,"$defs":{"d":{"$ref":"#/properties/input2/properties/b"}}}`,
			[]string{"  same"}},
		{"root parts", OpenAI, `{"allOf":[{"properties":{"a":{"minimum":1},"b":{}},"required":["a"]},{"properties":{"a":{"maximum":3}},"required":["a","b"]}]}`,
			`{"additionalProperties":false,"description":"Give all arguments in \"input\".","properties":{"input":{"allOf":[{"properties":{"a":{"minimum":1},"b":{}},"required":["a"]},{"properties":{"a":{"maximum":3}},"required":["a","b"]}],"type":"object"}},"required":["input"],"type":"object"}`,
			[]string{"  same"}},
		{"targets that move", Anthropic, `{"type":"object","properties":{"a b":{"type":"integer"},"c":{"$ref":"#/properties/a b"},"d":{"$ref":"#/allOf/0/properties/e"}},"allOf":[{"properties":{"e":{"items":{"$ref":"#/allOf/0/properties/e"}}}}]}`,
			`{"additionalProperties":false,"description":"Give all arguments in \"input\".","properties":{"input":{"allOf":[{"properties":{"e":{"items":{"$ref":"#/properties/input/allOf/0/properties/e"}}}}],"properties":{"a_b":{"type":"integer"},"c":{"$ref":"#/properties/input/properties/a_b"},"d":{"$ref":"#/properties/input/allOf/0/properties/e"}},"type":"object"}},"required":["input"],"type":"object"}`,
			[]string{"  same", "/properties/a b  same"}},
		{"strict", OpenAIStrict, `{"type":"object","title":"T","properties":{"a":{"const":1},"b":{"$ref":"#/definitions/d","description":"x"},"c":{"type":"string","minLength":2,"default":"zz"}},"required":["a"],"definitions":{"d":{"enum":["x"]}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","enum":[1]},"b":{"description":"x","anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]},"c":{"type":["string","null"],"description":"(default: \"zz\", minLength: 2)","pattern":"^[\\s\\S]{2,}$"}},"required":["a","b","c"],"additionalProperties":false,"$defs":{"d":{"type":"string","enum":["x"]}}}`,
			[]string{" title same", "/definitions/d type same", "/properties/a const same", "/properties/a type same", "/properties/b $ref same", "/properties/b $ref same", "/properties/b required same", "/properties/c default same", "/properties/c minLength same", "/properties/c required same"}},
		{"strict lengths", OpenAIStrict, `{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":300},"b":{"type":"string","pattern":"^[a-z]+$","maxLength":9},"c":{"type":"string","pattern":"^a|b+$","minLength":1},"d":{"type":"string","format":"uuid","minLength":1},"e":{"type":"string","pattern":"^x","maxLength":9},"f":{"enum":["x","yy"],"maxLength":1},"g":{"type":"string","format":"email","maxLength":20}},"required":["a","b","c","d","e","f","g"],"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"a":{"description":"(minLength: 1, maxLength: 300)","pattern":"^[\\s\\S]+$","type":"string"},"b":{"description":"(maxLength: 9)","pattern":"^[a-z]+$","type":"string"},"c":{"description":"(minLength: 1)","pattern":"^a|b+$","type":"string"},"d":{"description":"(minLength: 1)","format":"uuid","type":"string"},"e":{"description":"(maxLength: 9)","pattern":"^x","type":"string"},"f":{"description":"(maxLength: 1)","enum":["x"],"type":"string"},"g":{"description":"(format: \"email\", maxLength: 20)","pattern":"^[\\s\\S]{0,20}$","type":"string"}},"required":["a","b","c","d","e","f","g"],"type":"object"}`,
			[]string{"/properties/a maxLength wider", "/properties/a minLength same", "/properties/b maxLength wider", "/properties/c minLength wider", "/properties/d minLength same", "/properties/e maxLength wider", "/properties/f minLength same", "/properties/f type same", "/properties/g format same", "/properties/g maxLength same"}},
		{"strict root alternatives", OpenAIStrict, `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false,"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","description":"Give all arguments in \"input\".","properties":{"input":{"anyOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false},{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"],"additionalProperties":false}]}},"required":["input"],"additionalProperties":false}`,
			[]string{"  same", " oneOf same", " oneOf same"}},
		{"not strict", OpenAIStrict, `{"type":"object","properties":{"a":{"type":"object"}}}`,
			`{"type":"object","properties":{"a":{"type":"object"}}}`, []string{"/properties/a properties same"}},
		{"gemini", Gemini, `{"type":"object","properties":{"a":{"type":["integer","string","null"],"description":"d"},"b":{"enum":[1,null]},"c":{"$ref":"#/$defs/c"},"d":{"type":"integer","exclusiveMinimum":2,"multipleOf":3},"e":{"type":"object"}},"required":["z"],"$defs":{"c":{"type":"string","format":"uri"}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer","description":"d","nullable":true},{"type":"string","description":"d","nullable":true}]},"b":{"type":"string","format":"enum","enum":["1"],"nullable":true},"c":{"type":"string","description":"(format: uri)"},"d":{"type":"integer","minimum":3,"description":"(multipleOf: 3)"},"e":{"type":"array","description":"A list of names and values.","items":{"type":"object","properties":{"key":{"type":"string"},"value":{"anyOf":[{"type":"string","nullable":true},{"type":"number","nullable":true},{"type":"boolean","nullable":true}]},"json":{"type":"string","description":"The value as JSON, instead of value, if it is a list or an object."}},"required":["key"]}},"z":{"anyOf":[{"type":"string","nullable":true},{"type":"number","nullable":true},{"type":"boolean","nullable":true},{"type":"array","nullable":true,"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}}]}},"required":["z"]}`,
			[]string{"/properties/a type same", "/properties/a type same", "/properties/b enum same", "/properties/c $ref same", "/properties/c format same", "/properties/d exclusiveMinimum same", "/properties/d multipleOf wider", "/properties/e  same", "/properties/z  narrower"}},
		{"googleai", GoogleAI, `{"type":"object","properties":{"a":{"type":["array","string"],"items":{"enum":["x","y"]},"maxItems":3}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","description":"(one of: x, y)"},"description":"(maxItems: 3)"}}}`,
			[]string{"/properties/a type narrower", "/properties/a/items enum wider", "/properties/a maxItems wider"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := decode(t, tt.in)
			r := For(tt.target, in, nil)
			raw, err := json.Marshal(r.Root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, string(raw)), decode(t, tt.want)); diff != "" {
				t.Errorf("got (-) want (+):\n%s", diff)
			}
			var changes []string
			for _, c := range r.Changes {
				changes = append(changes, fmt.Sprintf("%s %s %s", c.Path, c.Keyword, c.Effect))
			}
			if diff := cmp.Diff(changes, tt.changes); diff != "" {
				t.Errorf("got (-) want (+) changes:\n%s", diff)
			}
			if diff := cmp.Diff(in, decode(t, tt.in)); diff != "" {
				t.Errorf("got the input changed:\n%s", diff)
			}
		})
	}
}

// References can multiply a schema: what is written stays small.
func TestForIsBounded(t *testing.T) {
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	in := decode(t, `{"type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{`+strings.Join(defs, ",")+`,"d60":{}}}`)
	for _, target := range []Target{OpenAI, OpenAIStrict, Anthropic, Gemini, GoogleAI} {
		raw, err := json.Marshal(For(target, in, nil).Root)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 4<<20 {
			t.Errorf("target %s: got %d bytes", target, len(raw))
		}
	}
}

// What a server writes to keep a rewrite busy, or to make it large, ends soon.
func TestForOfHostileSchemas(t *testing.T) {
	words := func(prefix string, n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`"%s%d"`, prefix, i))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	repeat := func(n int, part func(i int) string) string {
		var out []string
		for i := range n {
			out = append(out, part(i))
		}
		return strings.Join(out, ",")
	}
	const object = `{"type":"object","properties":{"v":%s},"$defs":{%s}}`
	self := func(name string) string {
		return fmt.Sprintf(`"%[1]s":{"type":"object","properties":{"x":{"$ref":"#/$defs/%[1]s"},"y":{"$ref":"#/$defs/%[1]s"}},"required":["x","y"],"additionalProperties":false}`, name)
	}
	for name, in := range map[string]string{
		"alternatives that require themselves": fmt.Sprintf(object, `{"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`, self("a")+","+self("b")),
		"alternatives of many values": fmt.Sprintf(object, `{"oneOf":[`+repeat(1000, func(i int) string {
			return fmt.Sprintf(`{"type":"object","properties":{"k":{"enum":%s}},"required":["k"]}`, words(fmt.Sprint(i, "_"), 60))
		})+`]}`, ""),
		"alternatives of many required properties": fmt.Sprintf(object,
			`{"oneOf":[{"type":"object","required":`+words("p", 40_000)+`},{"type":"object","required":`+words("p", 40_000)+`}]}`, ""),
		"two long enumerations":          fmt.Sprintf(object, `{"allOf":[{"enum":`+words("p", 50_000)+`},{"enum":`+words("q", 50_000)+`}]}`, ""),
		"a long enumeration":             fmt.Sprintf(object, `{"type":"string","pattern":"^p","enum":`+words("p", 80_000)+`}`, ""),
		"many references to many values": fmt.Sprintf(object, `{"type":"object","properties":{`+repeat(5000, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/e"}`, i) })+`}}`, `"e":{"enum":`+words("p", 50_000)+`}`),
		"many alternatives of one value": fmt.Sprintf(object, `{"oneOf":[`+repeat(9000, func(i int) string { return fmt.Sprintf(`{"const":"p%d"}`, i) })+`]}`, ""),
		"a tuple of many kinds":          fmt.Sprintf(object, `{"type":"array","prefixItems":[`+repeat(9000, func(i int) string { return fmt.Sprintf(`{"type":"string","minLength":%d}`, i) })+`]}`, ""),
		"many patterns of names": `{"type":"object","properties":{"v":{"type":"object","properties":{` + repeat(4000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) +
			`},"patternProperties":{` + repeat(4000, func(i int) string { return fmt.Sprintf(`"^(p|q)+%d$":{"maxLength":%d}`, i, i) }) + `}}}}`,
		"many odd names that names may be": `{"type":"object","properties":{` + repeat(2000, func(i int) string { return fmt.Sprintf(`"p %d":{}`, i) }) +
			`,"v":{"anyOf":[` + repeat(2000, func(int) string { return `{"propertyNames":{"pattern":" "}}` }) + `]}}}`,
		"a root of many conditions": `{"type":"object","allOf":[` + repeat(150, func(i int) string {
			return fmt.Sprintf(`{"if":{"properties":{"p%[1]d":{"enum":[1]}}},"then":{"required":["q%[1]d"]},"not":{"required":["r%[1]d"]},"anyOf":[{"required":["a%[1]d"]},{"required":["b%[1]d"]}]}`, i)
		}) + `],"properties":{` + repeat(150, func(i int) string { return fmt.Sprintf(`"p%d":{"enum":[1,2]}`, i) }) + `}}`,
		"a root of many references to itself": `{"type":"object","anyOf":[` + repeat(100, func(i int) string {
			return fmt.Sprintf(`{"required":["p%[1]d"],"properties":{"p%[1]d":{"$ref":"#"},"input%[1]d":{"type":"array","items":{"$ref":"#"}}}}`, i)
		}) + `]}`,
		"many parts with many properties": fmt.Sprintf(object, `{"allOf":[`+repeat(4500, func(i int) string { return fmt.Sprintf(`{"properties":{"p%d":{}}}`, i) })+`]}`, ""),
	} {
		s, err := schema.Compile([]byte(in))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, target := range []Target{OpenAI, OpenAIStrict, Anthropic, Gemini, GoogleAI} {
			t.Run(fmt.Sprint(name, " ", target), func(t *testing.T) {
				raw, err := json.Marshal(For(target, s.Root().(map[string]any), nil).Root)
				if err != nil {
					t.Fatal(err)
				}
				if len(raw) > 32<<20 {
					t.Errorf("got %d bytes of %d", len(raw), len(in))
				}
			})
		}
	}
}
