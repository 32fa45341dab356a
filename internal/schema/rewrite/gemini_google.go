package rewrite

import (
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// googleTreatments maps Gemini's keywords to their treatment for langchaingo's googleai and vertex
// providers, which forward only a few of them.
var googleTreatments = treatments(map[treatment]string{
	keep:          "type description required properties items",
	drop:          "title nullable format",
	inDescription: "enum minimum maximum minLength maxLength pattern minItems maxItems minProperties maxProperties",
})

// keepForwarded moves the keywords that langchaingo does not forward from out, which was written for s, to the description.
// Those that mean nothing to a model are only removed.
func (f *forms) keepForwarded(out, s map[string]any, at string) map[string]any {
	var facts []string
	for _, key := range tree.Keys(out) {
		treatment := googleTreatments[key]
		if treatment == keep {
			continue
		}
		switch {
		case key == "enum":
			facts = append(facts, "one of: "+strings.Join(tree.Strings(out[key]), ", "))
			for _, other := range scalarKeywords {
				if _, ok := s[other]; ok && googleTreatments[other] == inDescription {
					f.record(at, other, profile.Wider, "applied to the enumerated values")
				}
			}
		case key == "format" && out[key] == "enum", key != "format" && treatment == drop:
		default:
			facts = append(facts, key+": "+tree.Show(out[key]))
		}
		if treatment == inDescription {
			f.record(at, sourceKeyword(s, key), profile.Wider, "told in the description")
		}
		delete(out, key)
	}
	if len(facts) > 0 {
		describe(out, "("+strings.Join(facts, "; ")+")")
	}
	return out
}
