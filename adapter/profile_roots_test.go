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
