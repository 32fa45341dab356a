package adapter

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// The profiles of a row of unheld.
var gemini, googleAI = []profile.Profile{profile.Gemini}, []profile.Profile{profile.GoogleAI}
var llama, strict, google = []profile.Profile{profile.LlamaCpp}, []profile.Profile{profile.OpenAIStrict}, []profile.Profile{profile.Gemini, profile.GoogleAI}

// unheld lists what a provider's dialect cannot express, or langchaingo drops. Only for these keywords may arguments
// that fit the written schema be refused. Each row has a schema and arguments that show it.
var unheld = []struct {
	keyword                string // "" for a subschema as a whole
	profiles               []profile.Profile
	why, schema, arguments string
}{
	{"anyOf", google, "a second one for the same value",
		`{"properties":{"a":{"allOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"anyOf":[{"type":"integer"},{"type":"boolean"}]}]}}}`, `{"a":"x"}`},
	{"oneOf", googleAI, "a second one for the same value",
		`{"properties":{"a":{"allOf":[{"oneOf":[{"type":"string"},{"type":"integer"}]},{"oneOf":[{"type":"integer"},{"type":"boolean"}]}]}}}`, `{"a":"x"}`},
	{"unevaluatedItems", google, "beside contains",
		`{"properties":{"a":{"type":"array","contains":{"const":"x"},"unevaluatedItems":{"type":"string","maxLength":1}}}}`, `{"a":["x","yy"]}`},
	{"oneOf", []profile.Profile{profile.OpenAIStrict, profile.Gemini}, "values that fit two of them",
		`{"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"number"}]}},"additionalProperties":false}`, `{"a":1}`},
	{"additionalProperties", google, "in merged schemas, for properties that only the other one describes",
		`{"allOf":[{"properties":{"a":{}},"patternProperties":{"^a":{}}},{"properties":{"a":{}},"additionalProperties":{"type":"integer"}},{"properties":{"b":{"type":"string"}}}]}`, `{"b":"x"}`},
	{"if", gemini, "no such keyword",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"if":{"required":["a"],"properties":{"a":{"pattern":"^x"}}},"then":{"required":["b"]}}`, `{"a":"x"}`},
	{"if", googleAI, "dropped by langchaingo",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":"x"}`},
	{"", google, "a schema that nothing fits, that never ends, or that is over 32 levels, 10,000 parts or 4 MiB: the value is JSON text. At a root that nothing fits, nothing is asked for",
		`{"properties":{"a":{"$ref":"#/$defs/d"}},"required":["a"],"$defs":{"d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d"}},"required":["x"]}}}`, `{"a":{"x":"text"}}`},
	{"", google, "the target of a dynamic reference, or of a reference into another document: the value is JSON text",
		`{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"n":{"$dynamicAnchor":"n","type":"integer"}}}`, `{"a":"text"}`},
	{"", google, "a list whose items differ by their place, an object without properties: the value is JSON text",
		`{"properties":{"a":{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}]}}}`, `{"a":"[1,2]"}`},
	{"", llama, "a reference with other keywords beside it, which llama.cpp ignores",
		`{"properties":{"a":{"$ref":"#/$defs/d","maximum":3}},"$defs":{"d":{"type":"integer"}}}`, `{"a":4}`},
	{"not", gemini, "no such keyword", `{"properties":{"a":{"type":"string","not":{"pattern":"^x"}}}}`,
		`{"a":"x"}`},
	{"not", googleAI, "dropped by langchaingo", `{"properties":{"a":{}},"not":{"required":["a"]}}`, `{"a":"1"}`},
	{"enum", googleAI, "dropped by langchaingo", `{"properties":{"a":{"enum":["y"]}}}`, `{"a":"x"}`},
	{"const", googleAI, "dropped by langchaingo", `{"properties":{"a":{"const":"y"}}}`, `{"a":"x"}`},
	{"minLength", strict, "no such keyword", `{"properties":{"a":{"type":"string","minLength":2}},"additionalProperties":false}`, `{"a":"x"}`},
	{"minLength", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"string","minLength":2}}}`, `{"a":"x"}`},
	{"maxLength", strict, "no such keyword", `{"properties":{"a":{"type":"string","maxLength":2}},"additionalProperties":false}`, `{"a":"xxx"}`},
	{"maxLength", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"string","maxLength":2}}}`, `{"a":"xxx"}`},
	{"minProperties", strict, "no such keyword; the list of required properties stands in for it",
		`{"properties":{"a":{"type":"string"}},"additionalProperties":false,"minProperties":1}`, `{"a":null}`},
	{"minProperties", gemini, "at a root without properties; in lists of names and values, if a name is there twice",
		`{"properties":{"a":{"type":"object","minProperties":2}}}`, `{"a":[{"key":"x"},{"key":"x"}]}`},
	{"minProperties", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"string"}},"minProperties":1}`, `{}`},
	{"maxProperties", strict, "no such keyword; a bound above the number of properties means nothing",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"additionalProperties":false,"maxProperties":1}`, `{"a":"x","b":"y"}`},
	{"maxProperties", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"maxProperties":1}`,
		`{"a":"x","b":"y"}`},
	{"propertyNames", []profile.Profile{profile.Anthropic}, "beside renamed properties",
		`{"properties":{"odd name":{"type":"string"}},"propertyNames":{"maxLength":2}}`, `{"odd_name":"x"}`},
	{"patternProperties", []profile.Profile{profile.Anthropic}, "beside renamed properties",
		`{"properties":{"odd name":{"type":"string"}},"patternProperties":{"^odd ":{"maxLength":2}}}`, `{"odd_name":"xxx"}`},
	{"propertyNames", google, "beside properties that are described",
		`{"properties":{"abc":{"type":"string"}},"required":["abc"],"propertyNames":{"maxLength":2}}`, `{"abc":"x"}`},
	{"patternProperties", google, "beside properties that are described",
		`{"properties":{"abc":{"type":"string"}},"patternProperties":{"^a":{"maxLength":2}}}`, `{"abc":"xxx"}`},
	{"uniqueItems", []profile.Profile{profile.OpenAIStrict, profile.Gemini, profile.GoogleAI}, "if too few items are left without duplicates",
		`{"properties":{"a":{"type":"array","items":{"type":"string"},"uniqueItems":true,"minItems":2}},"additionalProperties":false}`, `{"a":["x","x"]}`},
	{"pattern", google, "a second one for the same text; langchaingo drops all",
		`{"properties":{"a":{"type":"string","allOf":[{"pattern":"^x"},{"pattern":"y$"}]}}}`, `{"a":"x"}`},
	{"exclusiveMinimum", google, "the bound itself, unless the type is integer; langchaingo drops all", `{"properties":{"a":{"type":"number","exclusiveMinimum":0}}}`, `{"a":0}`},
	{"exclusiveMaximum", google, "the bound itself, unless the type is integer; langchaingo drops all", `{"properties":{"a":{"type":"number","exclusiveMaximum":0}}}`, `{"a":0}`},
	{"multipleOf", gemini, "no such keyword; multiples of 1 are integers", `{"properties":{"a":{"type":"integer","multipleOf":5,"minimum":0}}}`, `{"a":1}`},
	{"multipleOf", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"integer","multipleOf":5}}}`, `{"a":1}`},
	{"items", googleAI, "that forbids items behind a tuple: dropped by langchaingo",
		`{"properties":{"a":{"type":"array","prefixItems":[{"type":"integer"}],"items":false}}}`, `{"a":[1,2]}`},
	{"contains", google, "no such keyword", `{"properties":{"a":{"type":"array","items":{"type":"integer"},"contains":{"const":1}}}}`, `{"a":[2]}`},
	{"dependentRequired", gemini, "no such keyword",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"},"e":{"type":"string"}},"dependentRequired":{"a":["b"],"b":["c"],"c":["d"],"d":["e"]}}`, `{"a":"x"}`},
	{"dependentRequired", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`,
		`{"a":"x"}`},
	{"dependentSchemas", gemini, "no such keyword",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentSchemas":{"a":{"required":["b"]},"c":{},"d":{},"e":{}}}`, `{"a":"x"}`},
	{"dependentSchemas", googleAI, "dropped by langchaingo",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":"x"}`},
	{"minimum", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"integer","minimum":5}}}`, `{"a":1}`},
	{"maximum", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"integer","maximum":5}}}`, `{"a":9}`},
	{"minItems", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"array","items":{"type":"integer"},"minItems":2}}}`, `{"a":[1]}`},
	{"maxItems", googleAI, "dropped by langchaingo", `{"properties":{"a":{"type":"array","items":{"type":"integer"},"maxItems":1}}}`, `{"a":[1,2]}`},
	{"minLength", llama, "of 1,000 and more", `{"properties":{"a":{"type":"string","minLength":1000}}}`, `{"a":"x"}`},
	{"maxLength", llama, "of 1,000 and more", `{"properties":{"a":{"type":"string","maxLength":1000}}}`, `{"a":"` + strings.Repeat("x", 1001) + `"}`},
	{"minItems", llama, "of 100 and more", `{"properties":{"a":{"type":"array","items":{},"minItems":100}}}`, `{"a":[]}`},
	{"maxItems", llama, "of 100 and more", `{"properties":{"a":{"type":"array","items":{"type":"integer"},"maxItems":100}}}`,
		`{"a":[` + strings.Repeat("1,", 100) + `1]}`},
	{"minimum", llama, "over 2^53", `{"properties":{"a":{"type":"integer","minimum":1e300}}}`, `{"a":1}`},
	{"maximum", llama, "over 2^53", `{"properties":{"a":{"type":"integer","maximum":-1e300}}}`, `{"a":1}`},
	{"exclusiveMinimum", llama, "over 2^53", `{"properties":{"a":{"type":"integer","exclusiveMinimum":1e300}}}`, `{"a":1}`},
	{"exclusiveMaximum", llama, "over 2^53", `{"properties":{"a":{"type":"integer","exclusiveMaximum":-1e300}}}`, `{"a":1}`},
	{"pattern", llama, "that does not go from ^ to $, has (?…) or a repetition of 1,000, or is not RE2",
		`{"properties":{"a":{"type":"string","pattern":"x"}}}`, `{"a":"y"}`},
	{"prefixItems", llama, "before other items", `{"properties":{"a":{"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"string"}}}}`,
		`{"a":["x"]}`},
}

// checkUnheld checks that a written schema has all rules that the provider can express.
func checkUnheld(t *testing.T, p profile.Profile, changes []profile.Change) {
	t.Helper()
	for _, c := range changes {
		known := false
		for _, u := range unheld {
			known = known || u.keyword == c.Keyword && slices.Contains(u.profiles, p)
		}
		check.That(t, c.Effect != "wider" || known, "%s: got %+v, want the model held to it, or a reason", p, c)
		renamed := p == profile.Anthropic && known
		check.That(t, c.Effect != "wider" || p != profile.Plain && p != profile.OpenAI && p != profile.Anthropic || renamed,
			"%s: got %+v, want nothing lost", p, c)
	}
}

// Every row of the table is necessary.
func TestUnheld(t *testing.T) {
	for i, u := range unheld {
		tool := toolWith(t, u.schema)
		for _, p := range u.profiles {
			t.Run(fmt.Sprintf("%d/%s/%s", i, p, u.keyword), func(t *testing.T) {
				root, _, changes := parametersOf(t, tool, p)
				check.That(t, slices.ContainsFunc(changes, func(c profile.Change) bool { return c.Effect == "wider" && c.Keyword == u.keyword }),
					"got %v, want one that is wider for %q", changes, u.keyword)
				offer{check.Value(schema.Compile([]byte(show(dialect(p, root)))))(t), root}.fits(t, u.arguments)
				wrong := (*argumentError)(nil)
				got, err := tool.arguments(u.arguments)
				check.That(t, errors.As(err, &wrong), "%s: got %s, %v, want what is wrong with the arguments", u.arguments, got, err)
			})
		}
	}
}

// The guide has the same table.
func TestUnheldIsDocumented(t *testing.T) {
	guide := check.Value(os.ReadFile("../docs/schema-keywords.md"))(t)
	for _, u := range unheld {
		name := "(the whole)"
		if u.keyword != "" {
			name = "`" + u.keyword + "`"
		}
		profiles := strings.ReplaceAll(strings.Trim(fmt.Sprint(u.profiles), "[]"), " ", ", ")
		line := fmt.Sprintf("| %s | %s | %s |\n", name, profiles, u.why)
		check.That(t, strings.Contains(string(guide), line), "the guide lacks the line\n%s", line)
	}
}

// testdata/losses.txt lists what each profile loses of real schemas, and which are strict. A profile may lose less, but not more.
func TestNothingMoreIsLost(t *testing.T) {
	known := map[string]bool{}
	data := check.Value(os.ReadFile("testdata/losses.txt"))(t)
	for line := range strings.Lines(string(data)) {
		known[strings.TrimSuffix(line, "\n")] = true
	}
	all, schemas := publishedSchemas(t), 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file, _, _ := strings.Cut(name, "/")
		if !provenance[file].listed {
			continue
		}
		schemas++
		for _, p := range profile.All() {
			_, strict, changes := parametersOf(t, toolWith(t, string(all[name])), p)
			check.That(t, !known[fmt.Sprintf("%s %s strict", name, p)] || strict, "%s: got it not strict", name)
			for _, c := range changes {
				row := fmt.Sprintf("%s %s %s %s %s", name, p, c.Effect, c.Path, c.Keyword)
				check.That(t, c.Effect == "same" || known[row], "got a new loss: %s (%s)", row, c.Note)
			}
		}
	}
	check.Equal(t, "schemas", schemas, 132)
}
