package rewrite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

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
