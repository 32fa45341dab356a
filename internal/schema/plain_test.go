package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

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
