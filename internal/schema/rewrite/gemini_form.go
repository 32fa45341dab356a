package rewrite

import (
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// forms writes the parts of subschemas that need no other subschema, within the budget.
type forms struct {
	*report
	*budget
	googleAI bool

	entryItems map[uintptr]any // items of the lists of entries that were written, by address, which stays theirs as long as they are here
}

// asText writes a string that holds the value as JSON text. what names the value for the model.
func (f *forms) asText(at, what string, s map[string]any) map[string]any {
	f.record(at, "", profile.Wider, what+" is asked for as JSON text")
	out := map[string]any{"type": "string"}
	if description := tree.Text(s["description"]); description != "" && f.write(len(description)) {
		out["description"] = description
	}
	sentence := "Write " + what + " as JSON."
	describe(out, sentence)
	f.write(len(sentence))
	return out
}

// scalarForms returns subschemas of strings, numbers and booleans, in this order.
func scalarForms() []any {
	return []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}, map[string]any{"type": "boolean"}}
}

// anything writes a subschema without a type as alternatives that need no decoding: from a string alone one cannot tell
// whether it is meant as JSON. For GoogleAI, which has no alternatives, and beyond the budget it writes a string.
func (f *forms) anything(at string, s map[string]any) map[string]any {
	first := map[string]any{"type": "string"}
	tree.CopyKeys(first, s, "description")
	const written = 256 // bytes of the alternatives, about
	if fits := f.write(written + size(first)); f.googleAI || !fits {
		f.record(at, "", profile.Narrower, "for a value without a type, only strings are offered")
		return first
	}
	f.record(at, "", profile.Narrower, "for a value without a type, no objects are offered")
	alternatives := append(scalarForms(), map[string]any{"type": "array", "items": map[string]any{"anyOf": scalarForms()}})
	alternatives[0] = first
	out := map[string]any{"anyOf": alternatives}
	setNullable(out)
	return out
}

// setNullable allows null in a subschema, or in each of its alternatives.
func setNullable(s map[string]any) {
	if branches := tree.List(s["anyOf"]); branches != nil {
		for _, b := range branches {
			setNullable(tree.Object(b))
		}
		return
	}
	s["nullable"] = true
}

// reportNull reports how null is written. keyword is the one that allows null.
func (f *forms) reportNull(at, keyword string) {
	if f.googleAI {
		f.record(at, keyword, profile.Narrower, "null is not offered")
		return
	}
	f.record(at, keyword, profile.Same, "null is written as nullable")
}

// orNull allows null, if it is nullable, beside what out allows. If out is nil, null is the only value. GoogleAI cannot
// express null, so for it out stays as it is.
func (f *forms) orNull(out map[string]any, nullable bool) map[string]any {
	if !nullable || f.googleAI {
		return out
	}
	if out == nil {
		out = map[string]any{"type": "string", "format": "enum", "enum": []any{"null"}, "description": "Leave it out."}
	}
	setNullable(out)
	return out
}

// anyOf joins alternatives to one subschema. It returns nil if there are none.
func anyOf(written []any) map[string]any {
	all := flattenAnyOf(written)
	switch len(all) {
	case 0:
		return nil
	case 1:
		return tree.Object(all[0])
	}
	return map[string]any{"anyOf": all}
}

// flattenAnyOf lists alternatives. An anyOf among them is replaced by its own alternatives.
func flattenAnyOf(written []any) []any {
	var all []any
	for _, one := range written {
		if inner := tree.List(tree.Object(one)["anyOf"]); inner != nil {
			all = append(all, inner...)
			continue
		}
		all = append(all, one)
	}
	return all
}

// describeUnwritable adds keywords of s that Gemini does not have to the description. A uniqueItems of false has no effect.
func (f *forms) describeUnwritable(out, s map[string]any, at string, keywords ...string) {
	for _, key := range keywords {
		if value, ok := s[key]; ok && (key != "uniqueItems" || value == true) {
			effect := profile.Wider
			if key == "uniqueItems" {
				effect = looseness(s, key)
			}
			f.record(at, key, effect, "told in the description")
			describe(out, "("+key+": "+tree.Show(value)+")")
		}
	}
}

// finish deducts the size of out, which was written for s, from the budget. If the budget is too small, it returns JSON
// text instead, except for the root. For GoogleAI it moves the keywords that are not forwarded to the description.
func (f *forms) finish(out, s map[string]any, at string) map[string]any {
	n := 0
	for key, v := range out {
		switch key {
		case "items", "anyOf":
		case "properties":
			for name := range tree.Object(v) {
				n += len(name) + len(`"":,`)
			}
		default:
			n += len(key) + size(v)
		}
	}
	if !f.write(n) && at != "" {
		return f.asText(at, "the value", nil)
	}
	if f.googleAI {
		return f.keepForwarded(out, s, at)
	}
	return out
}

// sources are the other keywords that may be written as a keyword.
var sources = map[string][]string{
	"enum": {"const", "anyOf", "oneOf"}, "minItems": {"minProperties"}, "maxItems": {"maxProperties"},
}

// sourceKeyword returns the keyword of s that was written as key.
func sourceKeyword(s map[string]any, key string) string {
	if _, ok := s[key]; ok {
		return key
	}
	for _, other := range sources[key] {
		if _, ok := s[other]; ok {
			return other
		}
	}
	return key
}
