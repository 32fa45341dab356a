package adapter

import (
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// What a profile makes models write differently is undone everywhere in a schema.
func TestRepairWhereverASchemaSaysIt(t *testing.T) {
	const kind = `{"properties":{"kind":{"enum":["a","b"]}},"required":["kind"],"if":{"properties":{"kind":{"const":"a"}},"required":["kind"]},`
	for _, tt := range []struct {
		name                string
		p                   profile.Profile
		schema, input, want string
	}{
		{"then", profile.Plain, kind + `"then":{"properties":{"level":{"enum":[1,2]}},"required":["level"]}}`, `{"kind":"a","level":"1"}`,
			`{"kind":"a","level":1}`},
		{"else", profile.Plain, kind + `"then":{"required":["kind"]},"else":{"properties":{"level":{"enum":[1,2]}},"required":["level"]}}`,
			`{"kind":"b","level":"1"}`, `{"kind":"b","level":1}`},
		{"entries in then", profile.Plain, kind + `"then":{"properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}},"required":["env"]}}`,
			`{"kind":"a","env":[{"key":"x","value":"y"}]}`, `{"env":{"x":"y"},"kind":"a"}`},
		{"dependentSchemas", profile.Plain, `{"properties":{"a":{"type":"string"}},"required":["a"],"dependentSchemas":{"a":{"properties":{"n":{"enum":[1,2]}},"required":["n"]}}}`,
			`{"a":"x","n":"1"}`, `{"a":"x","n":1}`},
		{"unevaluatedItems", profile.Gemini, `{"properties":{"a":{"type":"array","unevaluatedItems":{"enum":[1,2]}}}}`, `{"a":["1"]}`, `{"a":[1]}`},
		{"unevaluatedProperties", profile.Gemini, `{"properties":{"o":{"type":"object","unevaluatedProperties":{"enum":[1,2]}}}}`,
			`{"o":[{"key":"x","value":"1"}]}`, `{"o":{"x":1}}`},
		{"what is evaluated", profile.Plain, `{"properties":{"o":{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}],"unevaluatedProperties":{"type":"integer"}}}}`,
			`{"o":{"a":"1","b":"1"}}`, `{"o":{"a":"1","b":1}}`},
		{"patternProperties of a property", profile.Gemini, `{"properties":{"x":{}},"patternProperties":{"^x":{"enum":[1,2]}}}`, `{"x":"1"}`, `{"x":1}`},
		{"beside a reference", profile.Gemini, `{"properties":{"o":{"$ref":"#/$defs/b","properties":{"n":{"enum":[1,2]}}}},"$defs":{"b":{"type":"object"}}}`,
			`{"o":{"n":"1"}}`, `{"o":{"n":1}}`},
		{"a root beside a reference", profile.Plain, `{"$ref":"#/$defs/b","properties":{"n":{"type":"string"}},"unevaluatedProperties":false,"$defs":{"b":{"type":"object","properties":{"m":{"type":"string"}}}}}`,
			`{"n":null,"m":null}`, `{}`},
		{"another name beside a reference", profile.Anthropic, `{"properties":{"o":{"$ref":"#/$defs/b","properties":{"odd n":{"type":"integer"}},"additionalProperties":false}},"$defs":{"b":{"type":"object"}}}`,
			`{"o":{"odd_n":1}}`, `{"o":{"odd n":1}}`},
		{"a condition that is repaired itself", profile.Plain, `{"allOf":[{"if":{"properties":{"k":{"const":1}}},"then":{"properties":{"n":{"enum":[1]}}}},{"properties":{"k":{"enum":[1,2]}}}]}`,
			`{"k":"1","n":"1"}`, `{"k":1,"n":1}`},
		{"a reference to an anchor", profile.Plain, `{"properties":{"p":{"$ref":"#n"}},"$defs":{"x":{"$anchor":"n","type":"integer"}}}`, `{"p":"1"}`, `{"p":1}`},
		{"null for what an anchor is at", profile.Plain, `{"properties":{"p":{"$ref":"#n"}},"$defs":{"x":{"$anchor":"n","type":"integer"}}}`, `{"p":null}`, `{}`},
		{"an alternative behind an anchor", profile.Plain,
			`{"properties":{"p":{"anyOf":[{"$ref":"#n"},{"type":"boolean"}]}},"$defs":{"x":{"$anchor":"n","properties":{"n":{"type":"integer"}},"required":["n"]}}}`,
			`{"p":{"n":"1"}}`, `{"p":{"n":1}}`},
		{"a reference with an escape", profile.Plain, `{"properties":{"p":{"$ref":"#/$defs/Page%3CItem%3E"}},"$defs":{"Page<Item>":{"type":"integer"}}}`, `{"p":"1"}`, `{"p":1}`},

		{"JSON without text", profile.Gemini, `{"properties":{"o":{"type":"object"}}}`, `{"o":[{"key":"b","value":"1","json":""}]}`, `{"o":{"b":"1"}}`},
		{"a value beside JSON", profile.Plain, free, `{"o":[{"key":"b","value":"1","json":"2"}]}`, `{"o":{"b":2}}`},
		{"null beside JSON", profile.Gemini, `{"properties":{"o":{"type":"object"}}}`, `{"o":[{"key":"b","value":null,"json":"[1]"}]}`, `{"o":{"b":[1]}}`},
		{"neither", profile.Gemini, `{"properties":{"o":{"type":"object"}}}`, `{"o":[{"key":"b","json":""}]}`, `{"o":{"b":null}}`},

		{"null below nested alternatives", profile.OpenAIStrict,
			`{"properties":{"v":{"anyOf":[{"$ref":"#/$defs/u"},{"type":"boolean"}]}},"additionalProperties":false,"$defs":{"u":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"v":null}`, `{}`},
		{"null that one of nested alternatives takes", profile.Plain, `{"properties":{"v":{"anyOf":[{"oneOf":[{"type":"string"},{"type":"null"}]},{"type":"boolean"}]},"n":{"type":"integer"}}}`,
			`{"v":null,"n":"1"}`, `{"n":1,"v":null}`},
		{"null that is spelled", profile.Plain, `{"properties":{"v":{"anyOf":[{"type":"array"},{"type":"null"}]}}}`, `{"v":"null"}`, `{"v":null}`},
		{"a number that is spelled", profile.Plain, `{"properties":{"v":{"anyOf":[{"type":"array"},{"type":"integer"}]}}}`, `{"v":" 3"}`, `{"v":3}`},
		{"null that is excluded", profile.Plain, `{"properties":{"v":{"not":{"type":"null"}}}}`, `{"v":null}`, `{}`},
		{"null that fits two", profile.Plain, `{"properties":{"v":{"oneOf":[{"type":["string","null"]},{"enum":[null,1]}]}}}`, `{"v":null}`, `{}`},

		{"equal numbers", profile.OpenAIStrict, `{"properties":{"a":{"type":"array","items":{"type":"number"},"uniqueItems":true}},"required":["a"],"additionalProperties":false}`,
			`{"a":[1,1.0,10e-1,-0,0,0.10,1e-1,100,1e2,-1]}`, `{"a":[1,-0,0.10,100,-1]}`},
		{"equal numbers inside", profile.Plain, `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[{"v":[1]},{"v":[1.0]}]}`, `{"a":[{"v":[1]}]}`},
		{"an enumerated object", profile.Gemini, `{"properties":{"a":{"enum":["auto",{"mode":1}]}}}`, `{"a":"{\"mode\":1}"}`, `{"a":{"mode":1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := toolWith(t, tt.schema)
			if o := offered(t, tool, tt.p); tt.p != profile.Plain {
				o.fits(t, tt.input)
			}
			tool.sends(t, tt.input, tt.want)
		})
	}
}

// The wrapper of a profile is removed where it was added, and once.
func TestWrapperIsTakenOffOnce(t *testing.T) {
	const (
		open   = `{"type":"object","additionalProperties":{"type":"object"},"anyOf":[{"minProperties":1},{"required":["a"]}]}`
		names  = `{"patternProperties":{"^[a-z]+$":{"type":["object","null"]}},"not":{"required":["x","y"]}}`
		closed = `{"patternProperties":{"^[a-z]+[0-9]*$":{"type":"object"}},"additionalProperties":false,"not":{"required":["x","y"]}}`
	)
	for _, tt := range []struct {
		name                string
		p                   profile.Profile
		schema, input, want string
	}{
		{"a parameter of that name inside", profile.OpenAI, open, `{"input":{"input":{}}}`, `{"input":{}}`},
		{"as given, where both fit", profile.Plain, `{"type":"object","additionalProperties":{"type":"object"},"not":{"required":["root"]}}`, `{"input":{"x":{}}}`, `{"input":{"x":{}}}`},
		{"taken off, where both fit", profile.OpenAI, `{"type":"object","additionalProperties":{"type":"object"},"not":{"required":["root"]}}`, `{"input":{"x":{}}}`, `{"x":{}}`},
		{"only as given", profile.Plain, `{"additionalProperties":{"type":"object"},"not":{"required":["root"]}}`, `{"input":{"x":1}}`, `{"input":{"x":1}}`},
		{"null for a name by a pattern", profile.Plain, names, `{"input":null}`, `{"input":null}`},
		{"an object for a name by a pattern", profile.Plain, names, `{"input":{"y":{}}}`, `{"input":{"y":{}}}`},
		{"a name that the root takes", profile.Plain, closed, `{"input":{"input2":{}}}`, `{"input":{"input2":{}}}`},
		{"null in the wrapper", profile.Plain, `{"additionalProperties":{"type":"null"},"not":{"required":["root"]}}`, `{"input":null}`, `{"input":null}`},
		{"the wrapper of agents as given", profile.Plain, `{"additionalProperties":{"type":"object"}}`, `{"__arg1":{"x":1}}`, `{"__arg1":{"x":1}}`},
		{"both wrappers", profile.OpenAI, choice, `{"__arg1":"{\"input\":{\"a\":\"3\"}}"}`, `{"a":3}`},
		{"names and values in the wrapper", profile.Gemini, choice, `{"input":[{"key":"a","value":"3"}]}`, `{"a":3}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := toolWith(t, tt.schema)
			parametersOf(t, tool, tt.p)
			tool.sends(t, tt.input, tt.want)
			check.That(t, tt.p != profile.Plain || tool.valid([]byte(tt.input)) == nil, "got %s refused, want it to fit as it is", tt.input)
		})
	}
}

// References lead to the same place after the root has moved into the wrapper.
func TestReferencesOfWrappedSchemas(t *testing.T) {
	for _, s := range []string{
		`{"$id":"https://e/r.json","properties":{"a":{"type":"string"},"b":{"$ref":"https://e/r.json#/properties/a"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/%24defs/b"}},"anyOf":[{"required":["a"]},{"required":["b"]}],"$defs":{"b":{"type":"string"}}}`,
		`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/d%65finitions/b"}},"anyOf":[{"required":["a"]},{"required":["b"]}],"definitions":{"b":{"type":"string"}}}`,
		`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/%70roperties/a"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"properties":{"a":{"type":"string"},"b":{"$id":"https://e/s.json","$ref":"#/$defs/t","$defs":{"t":{"type":"string"}}}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
	} {
		o := offered(t, toolWith(t, s), profile.OpenAI)
		o.fits(t, `{"input":{"b":"x"}}`)
		o.refuses(t, `{"input":{"b":1}}`)
	}
}
