package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestPatternsThatGoCannotSay(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"type":"string","pattern":"^(?!x)"},"b":{"pattern":"^y"}}}`)
	check.Same(t, "ignored", s.Ignored(), []string{"/properties/a/pattern"})
	check.NoError(t, s.Validate([]byte(`{"a":"x","b":"y"}`)))
	check.Text(t, s.Validate([]byte(`{"a":1}`)), "")
	pattern := s.Root().(map[string]any)["properties"].(map[string]any)["a"].(map[string]any)["pattern"]
	check.Equal(t, "the pattern in Root, as the peer wrote it", pattern, "^(?!x)")
}

// An ignored pattern demands nothing, wherever it is, and all other rules hold.
func TestSchemasWithIgnoredPatterns(t *testing.T) {
	for name, tt := range map[string]struct {
		schema                string
		ignored, fit, refused []string
	}{
		"names": {`{"patternProperties":{"^(?!x)/":{"type":"integer"},"^n":{"type":"integer"}},"properties":{"s":{"type":"string"}}}`,
			[]string{"/patternProperties/^(?!x)~1"}, []string{`{"/":"a","n":1}`}, []string{`{"n":"a"}`, `{"s":1}`}},
		"no others than names": {`{"patternProperties":{"^(?!x)":true},"properties":{"s":{"type":"string"}},"additionalProperties":false}`,
			[]string{"/patternProperties/^(?!x)"}, []string{`{"a":1,"s":"a"}`}, []string{`{"s":1}`}},
		"no others, seen from outside": {`{"allOf":[{"patternProperties":{"^(?!x)":true}}],"required":["s"],"unevaluatedProperties":false}`,
			[]string{"/allOf/0/patternProperties/^(?!x)"}, []string{`{"a":1,"s":1}`}, []string{`{"a":1}`}},
		"all names are described": {`{"patternProperties":{"":{"type":"integer"},"^(?!x)":{"type":"string"}}}`,
			[]string{"/patternProperties/^(?!x)"}, []string{`{"a":1}`}, []string{`{"a":"1"}`}},
		"inside of what is ignored": {`{"patternProperties":{"^(?!x)":{"pattern":"^(?=y)"}}}`,
			[]string{"/patternProperties/^(?!x)/pattern", "/patternProperties/^(?!x)"}, []string{`{"a":"z"}`}, nil},
		"not":   {`{"not":{"pattern":"^(?!x)"},"type":"string"}`, []string{"/not/pattern"}, []string{`"x"`, `"y"`}, []string{`1`}},
		"twice": {`{"not":{"not":{"pattern":"^(?!x)"}}}`, []string{"/not/not/pattern"}, []string{`"x"`, `"y"`, `1`}, nil},
		"if": {`{"if":{"pattern":"^(?!x)"},"then":{"minLength":3},"else":{"maxLength":1},"type":"string"}`, []string{"/if/pattern"}, []string{`"x"`, `"xxx"`},
			[]string{`1`, `"xx"`}},
		"if, seen by unevaluatedProperties": {`{"if":{"properties":{"a":{"pattern":"(?=x)"}}},"then":{"properties":{"b":{"pattern":"(?=y)"}}},"unevaluatedProperties":false}`,
			[]string{"/if/properties/a/pattern", "/then/properties/b/pattern"}, []string{`{"a":"x","b":"y"}`}, []string{`{"c":1}`}},
		"then": {`{"if":{"type":"string"},"then":{"pattern":"^(?!x)","minLength":2}}`, []string{"/then/pattern"}, []string{`"xx"`}, []string{`"x"`}},
		"oneOf": {`{"oneOf":[{"type":"string","pattern":"^(?!x)"},{"const":"a"},{"type":"integer"}]}`, []string{"/oneOf/0/pattern"},
			[]string{`"a"`, `"x"`, `1`}, []string{`null`}},
		"oneOf beside anyOf": {`{"anyOf":[{"maxLength":1}],"oneOf":[{"pattern":"^(?!x)"},{"const":"a"}],"allOf":[{"type":"string"}]}`,
			[]string{"/oneOf/0/pattern"}, []string{`"a"`, `"x"`}, []string{`"aa"`, `1`}},
		"not, by reference": {`{"properties":{"v":{"not":{"$ref":"#/$defs/x"},"type":"string"}},"$defs":{"x":{"pattern":"^(?!x)"}}}`,
			[]string{"/$defs/x/pattern"}, []string{`{"v":"x"}`, `{"v":"y"}`}, []string{`{"v":1}`}},
		"if, by reference": {`{"if":{"allOf":[{"$ref":"#/$defs/x"}]},"then":{"minLength":3},"type":"string","$defs":{"x":{"pattern":"^(?!x)"}}}`,
			[]string{"/$defs/x/pattern"}, []string{`"xx"`}, []string{`1`}},
		"oneOf, by reference": {`{"oneOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/y"}],"$defs":{"x":{"type":"string","pattern":"^(?!x)"},"y":{"type":"string","pattern":"^(?=x)"}}}`,
			[]string{"/$defs/x/pattern", "/$defs/y/pattern"}, []string{`"x"`, `"y"`}, []string{`1`}},
		"then, referred to": {`{"properties":{"a":{"if":{"pattern":"^(?!x)"},"then":{"type":"string"}},"b":{"$ref":"#/properties/a/then","minimum":2}}}`,
			[]string{"/properties/a/if/pattern", "/properties/a/then"}, []string{`{"b":2}`}, []string{`{"b":1}`}},
		"content, referred to": {`{"properties":{"a":{"contentSchema":{"type":"string"}},"b":{"$ref":"#/properties/a/contentSchema","minimum":2},"c":{"not":{"$ref":"#/properties/a/contentSchema"}}}}`,
			[]string{"/properties/a/contentSchema"}, []string{`{"b":2}`, `{"c":"x"}`}, []string{`{"b":1}`}},
		"contains": {`{"contains":{"pattern":"^(?!x)"},"maxContains":1}`, []string{"/contains/pattern"}, []string{`["a","x"]`}, []string{`[]`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			check.Same(t, "ignored", s.Ignored(), tt.ignored)
			for _, value := range tt.fit {
				check.NoError(t, s.Validate([]byte(value)), value)
			}
			for _, value := range tt.refused {
				check.Fails(t, s.Validate([]byte(value)), value)
			}
		})
	}
}

// A pattern that would take gigabytes to compile is ignored, too.
func TestIgnoresLargePatterns(t *testing.T) {
	s := mustCompile(t, `{"type":"string","pattern":"`+strings.Repeat("a{0,1000}", 1000)+`"}`)
	check.Same(t, "ignored", s.Ignored(), []string{"/pattern"})
	check.NoError(t, s.Validate([]byte(`"b"`)))
}

// Small patterns can be too large together, wherever they are: all of them are compiled.
func TestPatternsAreBoundedTogether(t *testing.T) {
	const tooMany, few = 200, 100 // of about 2,000 instructions
	for name, format := range map[string]string{
		"texts":               `{"allOf":[%s]}` + "\n" + `{"pattern":"^(ab?){330}"}`,
		"names":               `{"patternProperties":{%s}}` + "\n" + `"^(ab?){330}%d":{}`,
		"of another language": `{"allOf":[%s]}` + "\n" + `{"pattern":"` + strings.Repeat("a", 2000) + `(?=b)"}`,
	} {
		document, part, _ := strings.Cut(format, "\n")
		schema := func(n int) []byte { return fmt.Appendf(nil, document, many(n, part)) }
		check.NoError(t, check.Err(Compile(schema(few))), name, "for few")
		_, err := Compile(schema(tooMany))
		check.Text(t, err, `schema: at "/`, name)
		check.Text(t, err, "patterns up to here compile to more than 250000 instructions together", name)
	}
}

// Plain rules accept only what fits, and leave the rest to the validator.
func TestPlainly(t *testing.T) {
	const object = `{"type":"object","additionalProperties":{"type":"string"},"required":["s"],"properties":{
		"s":{"type":"string","minLength":2,"maxLength":3,"description":"x","format":"email"},"i":{"type":"integer","minimum":-2,"maximum":10},
		"n":{"type":"number"},"e":{"enum":["a",1,null,true]},"c":{"const":"x"},"b":{"type":["boolean","null"]},
		"l":{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2},"any":{},"anys":{"type":"array"},
		"o":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},"p":{"type":"string","pattern":"^a"}}}`
	for value, want := range map[string]string{
		`{"s":"ab"}`: "", ` { "s" : "a b" } `: `{"s":"a b"}`, `{"s":"äöü"}`: "", `{"s":"abc","i":-2,"n":-1.5,"e":null,"c":"x","b":null}`: "",
		`{"s":"ab","i":10,"n":3,"e":true,"b":false,"l":[1,2],"any":"x","anys":[1,"x",null],"o":{"x":"\n"}}`: "",
		// For the validator, whether it fits or not:
		`{}`: "no", `{"s":"a"}`: "no", `{"s":"abcd"}`: "no", `{"s":"a\n"}`: "no", `{"s":"\u0061b"}`: "no", `{"s":7}`: "no", `{"s":"ab","s":"cd"}`: "no",
		`{"s":"ab","i":11}`: "no", `{"s":"ab","i":-3}`: "no", `{"s":"ab","i":1.0}`: "no", `{"s":"ab","i":1e0}`: "no", `{"s":"ab","i":"1"}`: "no", `{"s":"ab","i":1234567890123456789}`: "no",
		`{"s":"ab","n":1e5}`: "no", `{"s":"ab","e":1.0}`: "no", `{"s":"ab","e":"b"}`: "no", `{"s":"ab","e":[]}`: "no", `{"s":"ab","c":"y"}`: "no", `{"s":"ab","b":0}`: "no",
		`{"s":"ab","l":[]}`: "no", `{"s":"ab","l":[1,2,3]}`: "no", `{"s":"ab","l":["1"]}`: "no", `{"s":"ab","any":{}}`: "no", `{"s":"ab","anys":[[]]}`: "no",
		`{"s":"ab","o":{}}`: "no", `{"s":"ab","o":{"x":"1","y":2}}`: "no", `{"s":"ab","p":"a"}`: "no", `{"s":"ab","more":"x"}`: "no",
		`{"s":"ab"} x`: "no", `{"s":"ab"`: "no", `["s"]`: "no", "{\"s\":\"a\xff\"}": "no", ``: "no", `null`: "no",
		`{"s":"ab","any":` + strings.Repeat("1", 19) + `}`: "no",
	} {
		s := mustCompile(t, object)
		got, ok := s.Plainly([]byte(value))
		switch {
		case ok == (want == "no"):
			t.Errorf("%s: got %v", value, ok)
		case ok && s.Validate(got) != nil:
			t.Errorf("%s: got %s, which does not fit: %v", value, got, s.Validate(got))
		case ok && string(got) != value && string(got) != want:
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}

// Rules that are not plain are left to the validator.
func TestRulesThatAreNotPlain(t *testing.T) {
	for _, schema := range []string{
		`true`, `{"type":"string"}`, `{"type":"object"}`, `{"properties":{"a":{}},"not":{}}`, `{"properties":{"a":{}},"required":["b"]}`, `{"properties":{"a":true}}`,
		`{"properties":{"a":{"minimum":0.5}}}`, `{"properties":{"a":{"enum":[[1]]}}}`, `{"properties":{"a":{"enum":[1],"const":1}}}`, `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}}`,
		`{"properties":{"a":{"minLength":-1}}}`, `{"properties":{"a":{}},"patternProperties":{}}`, `{"enum":[{"a":1}]}`, `{"properties":{` + many(maxMembers+1, `"p%d":{}`) + `}}`,
	} {
		s, err := Compile([]byte(schema))
		if err != nil {
			continue // the validator refuses the schema
		}
		got, ok := s.Plainly([]byte(`{"a":1}`))
		check.That(t, !ok, "%s: got %s", schema, got)
	}
}

// FuzzPlainly checks that plain rules accept only what the validator accepts, and change nothing.
func FuzzPlainly(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"enum":["x",1]}},"required":["a"]}`,
		`{"properties":{"a":{"type":"array","items":{"type":"number"},"maxItems":2},"b":{"type":["string","null"],"minLength":1}}}`,
	} {
		for _, value := range []string{`{"a":1,"b":"x"}`, `{"a":[1,2.5],"b":null}`, `{"a":0}`, `{ "a" : 1 }`} {
			f.Add(schema, value)
		}
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile([]byte(schema))
		if err != nil {
			return
		}
		got, ok := s.Plainly([]byte(value))
		if !ok {
			return
		}
		check.NoError(t, s.Validate([]byte(value)), schema, "takes", value)
		var before, after any
		check.That(t, json.Unmarshal([]byte(value), &before) == nil && json.Unmarshal(got, &after) == nil && reflect.DeepEqual(before, after),
			"%s became %s", value, got)
	})
}
