package rewrite

import (
	"slices"
	"strings"
)

// carried reduces a schema for Gemini to what langchaingo's googleai and vertex
// providers hand on. The rest is told in the description.
func (w *writer) carried(s map[string]any, at string) map[string]any {
	if branches := list(s["anyOf"]); len(branches) > 0 {
		w.note(at, "anyOf", Narrower, "only the first alternative is offered")
		return w.carried(object(branches[0]), at)
	}
	out := map[string]any{"type": s["type"]}
	copyKeys(out, s, "description", "required")
	var facts []string
	for _, key := range keys(s) {
		switch key {
		case "type", "description", "required", "properties", "items", "title", "nullable":
		case "format":
			if s[key] != "enum" {
				facts = append(facts, key+": "+show(s[key]))
			}
		case "enum":
			facts = append(facts, "one of: "+listed(list(s[key])))
			w.note(at, key, Wider, "told in the description")
		default:
			facts = append(facts, key+": "+show(s[key]))
			if key != "default" {
				w.note(at, key, Wider, "told in the description")
			}
		}
	}
	if len(facts) > 0 {
		describe(out, "("+strings.Join(facts, "; ")+")")
	}
	if properties := object(s["properties"]); properties != nil {
		written := make(map[string]any, len(properties))
		for _, name := range keys(properties) {
			written[name] = w.carried(object(properties[name]), join(at, "properties", name))
		}
		out["properties"] = written
	}
	if items := object(s["items"]); items != nil {
		out["items"] = w.carried(items, join(at, "items"))
	}
	return out
}

func listed(values []any) string {
	shown := names(slices.Clone(values))
	return strings.Join(shown, ", ")
}
