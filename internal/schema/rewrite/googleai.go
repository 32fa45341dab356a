package rewrite

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// googleWords says what of Gemini's keywords langchaingo's googleai and vertex providers
// pass on, and what of the others the description tells.
var googleWords = words(map[treatment]string{
	keep: "type description required properties items",
	drop: "title nullable format",
	told: "enum minimum maximum minLength maxLength pattern minItems maxItems minProperties maxProperties",
})

// carried reduces what was written of s to what is passed on. Values are held to nothing
// else.
func (f *forms) carried(out, s map[string]any, at string) map[string]any {
	var facts []string
	for _, key := range tree.Keys(out) {
		treatment := googleWords[key]
		if treatment == keep {
			continue
		}
		switch {
		case key == "enum":
			facts = append(facts, "one of: "+strings.Join(tree.Strings(out[key]), ", "))
			for _, other := range ofScalars {
				if _, ok := s[other]; ok && googleWords[other] == told {
					f.Note(at, other, Wider, "told by the values that are left")
				}
			}
		case key == "format" && out[key] == "enum", key != "format" && treatment == drop:
		case key == "maxLength" && tree.Constants(s) != nil:
			facts = append(facts, "the empty text")
		default:
			facts = append(facts, key+": "+tree.Show(out[key]))
		}
		if treatment == told {
			f.Note(at, said(s, key), Wider, "told in the description")
		}
		delete(out, key)
	}
	if len(facts) > 0 {
		describe(out, "("+strings.Join(facts, "; ")+")")
	}
	return out
}

// said is the keyword of s that was written as key.
func said(s map[string]any, key string) string {
	for _, other := range append([]string{key}, map[string][]string{
		"enum": {"const", "anyOf", "oneOf"}, "maxLength": {"const", "enum"},
		"minItems": {"minProperties"}, "maxItems": {"maxProperties"},
	}[key]...) {
		if _, ok := s[other]; ok {
			return other
		}
	}
	return key
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// quote writes a name for a note.
func quote(name string) string { return strconv.Quote(name[:min(len(name), tree.MaxPath)]) }
