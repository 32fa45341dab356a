package rewrite

import (
	"slices"
	"strings"
)

// carries are the keywords that langchaingo's googleai and vertex providers hand
// on to Gemini.
var carries = []string{"type", "description", "required", "properties", "items"}

// carried reduces, for GoogleAI, what was written of s to what is handed on. The
// rest is told in the description.
func (g *geminiWriter) carried(out, s map[string]any, at string) map[string]any {
	if g.target != GoogleAI {
		return out
	}
	var facts []string
	for _, key := range keys(out) {
		switch {
		case slices.Contains(carries, key):
			continue
		case key == "title" || key == "nullable" || key == "format" && out[key] == "enum":
		case key == "enum":
			facts = append(facts, "one of: "+strings.Join(names(out[key]), ", "))
			for _, other := range demands {
				if _, ok := s[other]; ok && other != said(s, key) {
					g.note(at, other, Wider, "told by the values that are left")
				}
			}
		default:
			facts = append(facts, key+": "+show(out[key]))
		}
		if slices.Contains(demands, key) {
			g.note(at, said(s, key), Wider, "told in the description")
		}
		delete(out, key)
	}
	if len(facts) > 0 {
		describe(out, "("+strings.Join(facts, "; ")+")")
	}
	return out
}

// demands are the keywords of Gemini that values must meet and that are not
// handed on.
var demands = []string{
	"enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "minProperties", "maxProperties",
}

// said is the keyword of s that was written as key.
func said(s map[string]any, key string) string {
	if _, ok := s[key]; ok {
		return key
	}
	for _, other := range map[string][]string{
		"enum": {"const", "anyOf", "oneOf"}, "minItems": {"minProperties"}, "maxItems": {"maxProperties"},
	}[key] {
		if _, ok := s[other]; ok {
			return other
		}
	}
	return key
}
