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
	v, err := schema.Decode([]byte(raw))
	check.Must(t, err)
	return v.(map[string]any)
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
			raw, err := json.Marshal(r.Root)
			check.Must(t, err)
			check.Same(t, "schema", decode(t, string(raw)), decode(t, string(tt.Want)))
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
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	in := decode(t, `{"type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{`+strings.Join(defs, ",")+`,"d60":{}}}`)
	for _, target := range []profile.Profile{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
		raw, err := json.Marshal(For(target, in, nil).Root)
		check.Must(t, err)
		if len(raw) > 4<<20 {
			t.Errorf("target %s: got %d bytes", target, len(raw))
		}
	}
}

// Schemas that are meant to be slow or large are rewritten quickly and within bounds.
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
		for _, target := range []profile.Profile{profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
			t.Run(fmt.Sprint(name, " ", target), func(t *testing.T) {
				raw, err := json.Marshal(For(target, s.Root().(map[string]any), nil).Root)
				check.Must(t, err)
				if len(raw) > 32<<20 {
					t.Errorf("got %d bytes of %d", len(raw), len(in))
				}
			})
		}
	}
}
