package rewrite

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

func decode(t *testing.T, raw string) map[string]any {
	t.Helper()
	return check.Value(schema.Decode([]byte(raw)))(t).(map[string]any)
}

// encoded returns JSON of a value.
func encoded(t *testing.T, v any) string {
	t.Helper()
	return string(check.Value(json.Marshal(v))(t))
}

func TestFor(t *testing.T) {
	var tests []struct {
		Name     string
		Target   profile.Profile
		In, Want json.RawMessage
		Changes  []string // path keyword effect
	}
	data, err := os.ReadFile("testdata/for.json")
	if err == nil {
		err = json.Unmarshal(data, &tests)
	}
	check.Must(t, err)
	for _, tt := range tests {
		t.Run(tt.Name, func(t *testing.T) {
			in := decode(t, string(tt.In))
			r := For(tt.Target, in, nil)
			check.Same(t, "schema", decode(t, encoded(t, r.Root)), decode(t, string(tt.Want)))
			var changes []string
			for _, c := range r.Changes {
				changes = append(changes, fmt.Sprintf("%s %s %s", c.Path, c.Keyword, c.Effect))
			}
			check.Same(t, "changes", changes, tt.Changes)
			check.Same(t, "got the input changed", in, decode(t, string(tt.In)))
		})
	}
}

// References can multiply a schema, but the result stays small.
func TestForIsBounded(t *testing.T) {
	defs := ""
	for i := range 60 {
		defs += fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	in := decode(t, `{"type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{`+defs+`"d60":{}}}`)
	for _, target := range []profile.Profile{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
		atMost(t, target+": bytes", len(encoded(t, For(target, in, nil).Root)), 4<<20)
	}
}

// Schemas that are meant to be slow or large are rewritten quickly and within bounds.
func TestForOfHostileSchemas(t *testing.T) {
	const object = `{"type":"object","properties":{"v":%s},"$defs":{%s}}`
	self := func(name string) string {
		return fmt.Sprintf(`"%[1]s":{"type":"object","properties":{"x":{"$ref":"#/$defs/%[1]s"},"y":{"$ref":"#/$defs/%[1]s"}},"required":["x","y"],"additionalProperties":false}`, name)
	}
	for name, in := range map[string]string{
		"alternatives that require themselves": fmt.Sprintf(object, `{"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`, self("a")+","+self("b")),
		"alternatives of many values": fmt.Sprintf(object, `{"oneOf":[`+each(1000, `{"type":"object","properties":{"k":{"enum":[`+
			strings.ReplaceAll(each(60, `"_%d"`), "_", "%d_")+`]}},"required":["k"]}`)+`]}`, ""),
		"alternatives of many required properties": fmt.Sprintf(object,
			`{"oneOf":[{"type":"object","required":[`+each(40_000, `"p%d"`)+`]},{"type":"object","required":[`+each(40_000, `"p%d"`)+`]}]}`, ""),
		"two long enumerations":          fmt.Sprintf(object, `{"allOf":[{"enum":[`+each(50_000, `"p%d"`)+`]},{"enum":[`+each(50_000, `"q%d"`)+`]}]}`, ""),
		"a long enumeration":             fmt.Sprintf(object, `{"type":"string","pattern":"^p","enum":[`+each(80_000, `"p%d"`)+`]}`, ""),
		"many references to many values": fmt.Sprintf(object, `{"type":"object","properties":{`+each(5000, `"p%d":{"$ref":"#/$defs/e"}`)+`}}`, `"e":{"enum":[`+each(50_000, `"p%d"`)+`]}`),
		"many alternatives of one value": fmt.Sprintf(object, `{"oneOf":[`+each(9000, `{"const":"p%d"}`)+`]}`, ""),
		"a tuple of many kinds":          fmt.Sprintf(object, `{"type":"array","prefixItems":[`+each(9000, `{"type":"string","minLength":%d}`)+`]}`, ""),
		"many patterns of names": `{"type":"object","properties":{"v":{"type":"object","properties":{` + each(4000, `"p%d":{}`) +
			`},"patternProperties":{` + each(4000, `"^(p|q)+%d$":{"maxLength":%d}`) + `}}}}`,
		"a root of many conditions":           `{"type":"object","allOf":[` + each(150, `{"if":{"properties":{"p%d":{"enum":[1]}}},"then":{"required":["q%d"]},"not":{"required":["r%d"]},"anyOf":[{"required":["a%d"]},{"required":["b%d"]}]}`) + `],"properties":{` + each(150, `"p%d":{"enum":[1,2]}`) + `}}`,
		"a root of many references to itself": `{"type":"object","anyOf":[` + each(100, `{"required":["p%d"],"properties":{"p%d":{"$ref":"#"},"input%d":{"type":"array","items":{"$ref":"#"}}}}`) + `]}`,
		"many parts with many properties":     fmt.Sprintf(object, `{"allOf":[`+each(4500, `{"properties":{"p%d":{}}}`)+`]}`, ""),
	} {
		s := check.Value(schema.Compile([]byte(in)))(t)
		for _, target := range []profile.Profile{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
			t.Run(fmt.Sprint(name, " ", target), func(t *testing.T) {
				atMost(t, "bytes", len(encoded(t, For(target, s.Root().(map[string]any), nil).Root)), 32<<20)
			})
		}
	}
}

func TestAliases(t *testing.T) {
	long := strings.Repeat("é", 50)
	properties := map[string]any{"ok": true, "a b": true, "a/b": true, "a_b": true, "": true, long: true, strings.Repeat("x", 65): true}
	root := map[string]any{"properties": properties}
	aliases := Aliases(root)
	check.Equal(t, "one for each of 5 odd names", len(aliases), 5)
	for alias, name := range aliases {
		_, taken := properties[alias]
		check.That(t, !taken && acceptedName.MatchString(alias), "got the alias %q of %q, want a plain name of its own", alias, name)
	}
	check.Same(t, "got others the second time", Aliases(root), aliases)
}

// each returns n texts, separated by commas. %d becomes the number of the text.
func each(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// atMost checks a bound.
func atMost(t *testing.T, what any, got, most int) {
	t.Helper()
	check.That(t, got <= most, "%v: got %d, want at most %d", what, got, most)
}

// No schema, however small, makes a result larger than the bound, or needs more memory to write.
func TestResultsAreBounded(t *testing.T) {
	const maxMemory = 200 << 20
	besideAlternatives := func(required, branches int) string {
		return `{"properties":{"v":{"type":"object","required":[` + each(required, `"name%d"`) + `],"anyOf":[` +
			each(branches, `{"type":"object","properties":{"k%d":{"type":"string"}},"required":["k%d"]}`) + `]}}}`
	}
	behindReferences := func(n int, def string) string {
		return `{"properties":{` + each(n, `"p%d":{"$ref":"#/$defs/l"}`) + `},"$defs":{"l":` + def + `}}`
	}
	long := strings.Repeat("x", 200_000)
	for name, in := range map[string]string{
		"required beside alternatives":      besideAlternatives(500, 300),
		"many required beside alternatives": besideAlternatives(5000, 3000),
		"required behind references":        behindReferences(1000, `{"type":"object","required":[`+each(5000, `"r%d"`)+`]}`),
		"descriptions":                      behindReferences(1000, `{"type":"string","format":"uri","description":"`+long+`"}`),
		"defaults":                          behindReferences(1000, `{"type":"array","items":{"type":"string"},"default":["`+long+`"]}`),
		"values":                            behindReferences(1000, `{"enum":["`+long+`"]}`),
		"names":                             behindReferences(1000, `{"type":"object","properties":{"`+long+`":{"type":"object","properties":{"a":{"type":"string"}}}}}`),
		"undescribed names":                 behindReferences(1000, `{"type":"object","required":["`+long+`"]}`),
		"patterns":                          behindReferences(1000, `{"type":"string","pattern":"`+long+`"}`),
		"parts in order":                    behindReferences(1000, `{"type":"array","prefixItems":[{"type":"string","examples":["`+long+`"]},{"type":"integer"}]}`),
		"names that are required":           `{"required":[` + each(40_000, `"q%d"`) + `]}`,
	} {
		for _, target := range []profile.Profile{profile.Gemini, profile.GoogleAI, profile.OpenAIStrict} {
			t.Run(fmt.Sprintf("%s/%s", name, target), func(t *testing.T) {
				root := decode(t, in)
				var out Result
				atMost(t, "bytes of memory", int(check.Allocated(func() { out = For(target, root, nil) })), maxMemory)
				atMost(t, "bytes", len(encoded(t, out.Root)), maxWritten+maxWritten/4)
				atMost(t, "changes, with one of each kind", len(out.Changes), maxChanges+1000)
			})
		}
	}
}

// A long name does not make all paths below it long.
func TestPathsAreBounded(t *testing.T) {
	const maxMemory = 200 << 20
	in := decode(t, `{"type":"object","properties":{"`+strings.Repeat("x", 200_000)+`":{"allOf":[`+each(5000, `{"type":"array","maxItems":%d}`)+`]}}}`)
	for _, target := range []profile.Profile{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
		var out Result
		atMost(t, target+": bytes of memory", int(check.Allocated(func() { out = For(target, in, nil) })), maxMemory)
		for _, c := range out.Changes {
			atMost(t, target+": bytes of a path", len(c.Path), 2*tree.MaxPath)
		}
	}
}

// Beyond the bound on changes, only the first of each kind is listed.
func TestChangesAreBounded(t *testing.T) {
	out := For(profile.Gemini, decode(t, `{"properties":{`+each(3000, `"p%d":{"type":"string","format":"uri","examples":["e"]}`)+
		`,"z":{"type":"integer","multipleOf":5},"zz":{"type":"integer","multipleOf":5}}}`), nil)
	wider := 0
	for _, c := range out.Changes {
		if c.Effect == profile.Wider && c.Keyword == "multipleOf" {
			wider++
		}
	}
	check.Equal(t, "changes of multipleOf", wider, 1)
	check.That(t, len(out.Changes) >= maxChanges && len(out.Changes) <= maxChanges+10,
		"got %d changes, want %d and one of each kind", len(out.Changes), maxChanges)
}

// Alternatives are compared until that takes too many steps.
func TestOneOfEffect(t *testing.T) {
	branches := func(n int) []map[string]any {
		var out []map[string]any
		for i := range n {
			out = append(out, map[string]any{"const": json.Number(fmt.Sprint(i))})
		}
		return out
	}
	for n, want := range map[int]profile.Effect{2: profile.Same, 300: profile.Same, 3000: profile.Wider} {
		check.Equal(t, n, oneOfEffect(&tree.Document{Left: 1 << 20}, branches(n)), want)
	}
}
