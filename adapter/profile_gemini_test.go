package adapter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Arguments that the server's schema refuses do not fit the written schema either.
func TestRewrittenSchemasHold(t *testing.T) {
	long := strings.Repeat("e", 60)
	values := make([]string, 300)
	for i := range values {
		values[i] = fmt.Sprintf(`"%s%d"`, long, i)
	}
	for name, c := range map[string]struct {
		profile profile.Profile
		schema  string
		refused []string // that must not fit
		fit     []string // that must fit, and be accepted
	}{
		"no float above a limit":                 {profile.Gemini, `{"properties":{"a":{"type":"number","exclusiveMinimum":0.1}}}`, []string{`{"a":0.1}`}, []string{`{"a":0.2}`, `{"a":0.10000000000000002}`}},
		"no float below a limit":                 {profile.Gemini, `{"properties":{"a":{"type":"number","exclusiveMaximum":1.1}}}`, []string{`{"a":1.1}`}, []string{`{"a":1}`}},
		"a limit between two floats":             {profile.Gemini, `{"properties":{"a":{"type":"number","exclusiveMinimum":9007199254740993}}}`, []string{`{"a":9007199254740993}`}, []string{`{"a":9007199254740994}`}},
		"fractions that are enumerated integers": {profile.Gemini, `{"properties":{"a":{"type":"integer","enum":[1,1.5,2.0]}}}`, []string{`{"a":"1.5"}`}, []string{`{"a":"1"}`}},
		"strict fractions":                       {profile.OpenAIStrict, `{"properties":{"a":{"type":"integer","enum":[1,1.5]}},"additionalProperties":false}`, []string{`{"a":1.5}`}, []string{`{"a":1}`}},
		"no text of a length":                    {profile.OpenAIStrict, `{"properties":{"a":{"type":"string","pattern":"^[a-z]+$","maxLength":0}},"additionalProperties":false}`, []string{`{"a":""}`}, []string{`{"a":null}`}},
		"long enumerations":                      {profile.OpenAIStrict, `{"properties":{"a":{"type":"string","enum":[` + strings.Join(values, ",") + `]}},"additionalProperties":false}`, []string{`{"a":"x"}`}, []string{`{}`}},
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
		"no text":           {`{"type":"string","minLength":2,"maxLength":1}`, "not strict: no string is long enough"},
		"long enumerations": {`{"type":"string","enum":[` + strings.Join(values, ",") + `]}`, "not strict: there are too many enumerated values"},
	} {
		t.Run(name, func(t *testing.T) {
			tool := toolWith(t, `{"properties":{"a":`+c.schema+`},"required":["a"],"additionalProperties":false}`)
			_, strict, changes := parametersOf(t, tool, profile.OpenAIStrict)
			if strict || !slices.ContainsFunc(changes, func(got profile.Change) bool { return got.Note == c.why }) {
				t.Errorf("got strict %t and %v, want it not strict: %s", strict, changes, c.why)
			}
		})
	}
	tool := toolWith(t, `{"properties":{"a":{"type":"string","enum":[`+strings.Join(values[:250], ",")+`]}},"required":["a"],"additionalProperties":false}`)
	if _, strict, changes := parametersOf(t, tool, profile.OpenAIStrict); !strict {
		t.Errorf("got %v, want 250 values strict, however long they are", changes)
	}
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
		"entries":                         {profile.Gemini, texts, entries, `{"a":"x"}`},
		"entries beside texts":            {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":{"type":"string"}}]}`, entries, `{"a":"x"}`},
		"texts beside entries":            {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":{"type":"string"}}]}`, `["a"]`, `["a"]`},
		"entries beside lists of them":    {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":` + texts + `}]}`, entries, ""},
		"lists of them beside entries":    {profile.Gemini, `{"anyOf":[` + texts + `,{"type":"array","items":` + texts + `}]}`, `[` + entries + `]`, `[{"a":"x"}]`},
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
			if strings.Contains(show(o.root), "Write any value as JSON") {
				t.Errorf("asks for JSON text that nobody reads\n%s", show(o.root))
			}
			if arguments := `{"v":` + c.value + `}`; c.sent == "" {
				o.refuses(t, arguments)
			} else {
				o.fits(t, arguments)
				tool.sends(t, arguments, `{"v":`+c.sent+`}`)
			}
		})
	}
}
