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
