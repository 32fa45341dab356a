package adapter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Arguments that fit a merged root are accepted. Arguments that the server's schema refuses do not
// fit it, or a change says so.
func TestMergedRoots(t *testing.T) {
	all := []profile.Profile{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI}
	wrapping := []profile.Profile{profile.OpenAI, profile.Anthropic}
	for _, tt := range []struct {
		name, schema string
		profiles     []profile.Profile
		fits         string // arguments that fit and that are accepted as want, "" for none
		want         string // "" for fits
		refused      string // arguments that neither the original nor the rewritten schema takes
	}{
		{"an escaped reference", `{"$ref":"#/$defs/Page%3CItem%3E","$defs":{"Page<Item>":{"type":"object","properties":{"q":{"type":"integer"}},"required":["q"]}}}`, all, `{"q":1}`, "", `{"q":"x"}`},
		{"an anchor", `{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"object","properties":{"q":{"type":"integer"}},"required":["q"]}}}`, all, `{"q":1}`,
			"", `{"q":"x"}`},
		{"an anchor of a property", `{"properties":{"p":{"$ref":"#a"}},"required":["p"],"$defs":{"x":{"$anchor":"a","type":"integer"}}}`,
			[]profile.Profile{profile.OpenAI, profile.Anthropic, profile.Gemini, profile.GoogleAI}, `{"p":1}`, "", `{"p":"x"}`},
		{"a part with an anchor", `{"allOf":[{"$anchor":"a","type":"object","properties":{"q":{"type":"integer"}}},{"properties":{"r":{"$ref":"#a"}},"required":["r"]}]}`,
			wrapping, `{"input":{"r":{"q":1}}}`, `{"r":{"q":1}}`, `{"input":{"r":{"q":"x"}}}`},
		{"a target with anchors inside", `{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"q":{"$anchor":"a","type":"integer"},"r":{"$ref":"#a"}},"required":["r"]}}}`,
			wrapping, `{"input":{"r":1}}`, `{"r":1}`, `{"input":{"r":"x"}}`},
		{"a document inside", `{"$ref":"#/$defs/x","$defs":{"x":{"$id":"https://example.com/x","type":"object","properties":{"q":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"integer"}}},"y":{"type":"string"}}}`,
			wrapping, `{"input":{"q":1}}`, `{"q":1}`, `{"input":{"q":"x"}}`},
		{"a closed part beside patterns", `{"allOf":[{"properties":{"p":{"type":"string"}},"additionalProperties":false},{"properties":{"x1":{"type":"string"}},"patternProperties":{"^x":{}}}]}`,
			wrapping, `{"input":{"p":"q"}}`, `{"p":"q"}`, `{"input":{"x1":"q"}}`},
		{"patterns beside a closed part", `{"allOf":[{"properties":{"x1":{"type":"string"}},"patternProperties":{"^x":{}}},{"properties":{"p":{"type":"string"}},"additionalProperties":false}]}`,
			wrapping, `{"input":{"p":"q"}}`, `{"p":"q"}`, `{"input":{"x1":"q"}}`},
		{"a closed part that has all patterns", `{"allOf":[{"properties":{"p":{"type":"string"}}},{"properties":{"p":{}},"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false}]}`,
			wrapping, `{"input":{"x1":1}}`, `{"x1":1}`, `{"input":{"y":1}}`},
		{"one number in two spellings", `{"properties":{"a":{"oneOf":[{"type":"number","const":1},{"type":"number","const":1.0},{"type":"number","const":2}]}},"required":["a"],"additionalProperties":false}`,
			gemini, `{"a":"2"}`, `{"a":2}`, `{"a":"1"}`},
		{"enumerations that share a number", `{"properties":{"a":{"oneOf":[{"enum":[1,2]},{"enum":[1.0,3]}]}},"required":["a"]}`, gemini, `{"a":"3"}`,
			`{"a":3}`, `{"a":"1.0"}`},
		{"a fraction that is not an integer", `{"properties":{"a":{"type":"integer","enum":[1.5,2.0]}},"required":["a"]}`, gemini, `{"a":"2.0"}`, `{"a":2.0}`,
			`{"a":"1.5"}`},
	} {
		for _, p := range tt.profiles {
			t.Run(fmt.Sprintf("%s/%s", tt.name, p), func(t *testing.T) {
				tool := toolWith(t, tt.schema)
				o := offered(t, tool, p)
				o.fits(t, tt.fits)
				tool.sends(t, tt.fits, cmp.Or(tt.want, tt.fits))
				o.refuses(t, tt.refused)
				check.Fails(t, check.Err(tool.arguments(tt.refused)), tt.refused)
			})
		}
	}
}

// If a value may fit two alternatives of a oneOf, a change says so.
func TestAlternativesThatOverlap(t *testing.T) {
	const in = `{"properties":{"a":{"oneOf":[{"type":"object","properties":{"xa":{"type":"integer"}},"required":["xa"]},{"type":"object","patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false}]}},"additionalProperties":false}`
	_, _, changes := parametersOf(t, toolWith(t, in), profile.Gemini)
	loses := slices.ContainsFunc(changes, func(c profile.Change) bool { return c.Keyword == "oneOf" && c.Effect != "same" })
	check.That(t, loses, "%s: got %v, want a oneOf that is not the same", in, changes)
}

// Names get aliases everywhere in a schema, and arguments get the names back.
func TestNamesThatAreOdd(t *testing.T) {
	for _, tt := range []struct{ schema, arguments, want string }{
		{`{"properties":{"l":{"type":"array","prefixItems":[{"properties":{"odd name":{"type":"integer"}},"required":["odd name"],"additionalProperties":false}]}}}`,
			`{"l":[{"odd_name":1}]}`, `{"l":[{"odd name":1}]}`},
		{`{"allOf":[{"properties":{"odd name":{"type":"integer"}},"additionalProperties":false},{"required":["odd name"]}]}`, `{"input":{"odd_name":1}}`, `{"odd name":1}`},
		{`{"properties":{"odd name":{"type":"integer"},"b":{"type":"integer"}},"dependentRequired":{"b":["odd name"]},"additionalProperties":false}`,
			`{"b":1,"odd_name":1}`, `{"b":1,"odd name":1}`},
		{`{"properties":{"odd name":{"type":"integer"},"b":{"type":"integer"}},"if":{"required":["b"]},"then":{"required":["odd name"]},"additionalProperties":false}`,
			`{"b":1,"odd_name":1}`, `{"b":1,"odd name":1}`},
		{`{"properties":{"o":{"type":"object","patternProperties":{"^x":{"properties":{"odd name":{"type":"integer"}},"required":["odd name"],"additionalProperties":false}}}}}`,
			`{"o":{"x1":{"odd_name":1}}}`, `{"o":{"x1":{"odd name":1}}}`},
		{`{"properties":{"a":{"$ref":"#q"}},"$defs":{"x":{"$anchor":"q","properties":{"odd name":{"type":"integer"}},"required":["odd name"]}}}`,
			`{"a":{"odd_name":1}}`, `{"a":{"odd name":1}}`},
		{`{"properties":{"odd name":{"type":"integer"},"b":{"type":"integer"}},"required":["odd name"],"propertyNames":{"pattern":"^(odd name|b)$"}}`,
			`{"odd_name":1,"b":2}`, `{"b":2,"odd name":1}`},
		{`{"properties":{"odd name":{"type":"integer"}},"required":["odd name"],"propertyNames":{"anyOf":[{"const":"b"},{"not":{"pattern":"_"}}]}}`,
			`{"odd_name":1}`, `{"odd name":1}`},
		{`{"properties":{"odd name":{"type":"integer"},"m":{"type":"object","propertyNames":{"pattern":"^[a-z_]+$"}}}}`, `{"odd_name":1,"m":{"odd_name":2}}`,
			`{"m":{"odd_name":2},"odd name":1}`},
		{`{"properties":{"odd name":{"type":"integer"},"free":{"type":"object"}}}`, `{"odd_name":1,"free":{"odd_name":1}}`,
			`{"free":{"odd_name":1},"odd name":1}`},
		{`{"properties":{"odd name":{"type":"integer"},"o":{"properties":{"odd_name":{"type":"string"}}}}}`, `{"odd_name_ef5bac77":1,"o":{"odd_name":"x"}}`,
			`{"o":{"odd_name":"x"},"odd name":1}`},
	} {
		tool := toolWith(t, tt.schema)
		offered(t, tool, profile.Anthropic).fits(t, tt.arguments)
		tool.sends(t, tt.arguments, tt.want)
	}
}

// A large reference target is not copied, and nothing of it is lost.
func TestLargeTargets(t *testing.T) {
	var members strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&members, `"p%d":{"type":"integer"},`, i)
	}
	in := `{"$ref":"#/$defs/l","$defs":{"l":{"type":"object","properties":{` + members.String() + `"q":{"type":"string"}}}}}`
	tool := toolWith(t, in)
	for _, p := range []profile.Profile{profile.OpenAI, profile.Anthropic} {
		o := offered(t, tool, p)
		for _, name := range []string{"p0", "p998", "p5999"} {
			check.Fails(t, o.Validate([]byte(`{"input":{"`+name+`":"x"}}`)), p, name)
		}
	}
}

// Arguments that the server's schema refuses do not fit the written schema either.
func TestRewrittenSchemasHold(t *testing.T) {
	long, values := strings.Repeat("e", 60), make([]string, 300)
	for i := range values {
		values[i] = fmt.Sprintf(`"%s%d"`, long, i)
	}
	for name, c := range map[string]struct {
		profile profile.Profile
		schema  string
		refused []string // that must not fit
		fit     []string // that must fit, and be accepted
	}{
		"fractions that are enumerated integers": {profile.Gemini, `{"properties":{"a":{"type":"integer","enum":[1,1.5,2.0]}}}`, []string{`{"a":"1.5"}`},
			[]string{`{"a":"1"}`}},
		"strict fractions": {profile.OpenAIStrict,
			`{"properties":{"a":{"type":"integer","enum":[1,1.5]}},"additionalProperties":false}`, []string{`{"a":1.5}`}, []string{`{"a":1}`}},
		"no text of a length": {profile.OpenAIStrict,
			`{"properties":{"a":{"type":"string","pattern":"^[a-z]+$","maxLength":0}},"additionalProperties":false}`, []string{`{"a":""}`}, []string{`{"a":null}`}},
		"long enumerations": {profile.OpenAIStrict,
			`{"properties":{"a":{"type":"string","enum":[` + strings.Join(values, ",") + `]}},"additionalProperties":false}`, []string{`{"a":"x"}`}, []string{`{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			tool := toolWith(t, c.schema)
			o := offered(t, tool, c.profile)
			for _, arguments := range c.refused {
				o.refuses(t, arguments)
			}
			for _, arguments := range c.fit {
				o.fits(t, arguments)
				check.NoError(t, check.Err(tool.arguments(arguments)), arguments, "it accepted")
			}
		})
	}
}

// A schema that the strict subset cannot express is not strict.
func TestNotStrict(t *testing.T) {
	values := make([]string, 251)
	for i := range values {
		values[i] = fmt.Sprintf(`"%060d"`, i)
	}
	for name, c := range map[string]struct{ schema, why string }{
		"foreign patterns":  {`{"type":"string","pattern":"^(?!x)"}`, "not strict: the pattern is of another language"},
		"long enumerations": {`{"type":"string","enum":[` + strings.Join(values, ",") + `]}`, "not strict: there are too many enumerated values"},
	} {
		t.Run(name, func(t *testing.T) {
			tool := toolWith(t, `{"properties":{"a":`+c.schema+`},"required":["a"],"additionalProperties":false}`)
			_, strict, changes := parametersOf(t, tool, profile.OpenAIStrict)
			check.That(t, !strict && slices.ContainsFunc(changes, func(got profile.Change) bool { return got.Note == c.why }),
				"got strict %t and %v, want it not strict: %s", strict, changes, c.why)
		})
	}
	tool := toolWith(t, `{"properties":{"a":{"type":"string","enum":[`+strings.Join(values[:250], ",")+`]}},"required":["a"],"additionalProperties":false}`)
	_, strict, changes := parametersOf(t, tool, profile.OpenAIStrict)
	check.That(t, strict, "got %v, want 250 values strict, however long they are", changes)
}

// No value means one thing in the written schema and another to the server.
func TestRewrittenValuesAreUnambiguous(t *testing.T) {
	entries := `[{"key":"a","value":"x"}]`
	texts := `{"type":"object","additionalProperties":{"type":"string"}}`
	for name, c := range map[string]struct {
		profile profile.Profile
		v       string // the schema of the property v
		value   string
		sent    string // "" for a value that must not be offered
	}{
		"entries":                      {profile.Gemini, texts, entries, `{"a":"x"}`},
		"entries beside texts":         {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":{"type":"string"}}]}`, entries, `{"a":"x"}`},
		"texts beside entries":         {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":{"type":"string"}}]}`, `["a"]`, `["a"]`},
		"entries beside lists of them": {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":` + texts + `}]}`, entries, ""},
		"lists of them beside entries": {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":` + texts + `}]}`, `[` + entries + `]`,
			`[{"a":"x"}]`},
		"entries beside any list":         {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array"}]}`, entries, ""},
		"entries beside anything":         {profile.Gemini, `{"anyOf":[` + texts + `,{}]}`, entries, ""},
		"nested entries":                  {profile.Gemini, `{"anyOf":[{"anyOf":[` + texts + `,{"type":"integer"}]},{"type":"array"}]}`, entries, ""},
		"entries of the first only":       {profile.GoogleAI, `{"anyOf":[` + texts + `,{"type":"array","items":` + texts + `}]}`, entries, ""},
		"entries of the first type only":  {profile.GoogleAI, `{"type":["object","array"]}`, entries, ""},
		"a boolean beside texts":          {profile.Gemini, `{"anyOf":[{"type":"string","maxLength":3},{"enum":["a",true]}]}`, `"true"`, ""},
		"a text beside booleans":          {profile.Gemini, `{"anyOf":[{"type":"integer"},{"enum":["a",true]}]}`, `"true"`, `true`},
		"a number for anything":           {profile.Gemini, `{}`, `3`, `3`},
		"a text for anything":             {profile.Gemini, `{"description":"d"}`, `"3"`, `"3"`},
		"a list for anything":             {profile.Gemini, `true`, `["a",1]`, `["a",1]`},
		"an object for anything":          {profile.Gemini, `{}`, `{"a":1}`, ""},
		"a text for anything elsewhere":   {profile.GoogleAI, `{}`, `"3"`, `"3"`},
		"a number for anything elsewhere": {profile.GoogleAI, `{}`, `3`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tool := toolWith(t, `{"properties":{"v":`+c.v+`}}`)
			o := offered(t, tool, c.profile)
			check.That(t, !strings.Contains(show(o.root), "Write any value as JSON"), "asks for JSON text that nobody reads\n%s", show(o.root))
			if arguments := `{"v":` + c.value + `}`; c.sent == "" {
				o.refuses(t, arguments)
			} else {
				o.fits(t, arguments)
				tool.sends(t, arguments, `{"v":`+c.sent+`}`)
			}
		})
	}
}

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
