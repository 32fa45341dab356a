package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// forms writes the parts of subschemas that need no other subschema, within the budget: texts, enumerations, null.
type forms struct {
	*report
	*budget
	googleAI bool

	entryItems map[uintptr]any // items of the lists of entries that were written, by address
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

// scalarForms returns subschemas of strings, numbers and booleans.
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
	out := map[string]any{"anyOf": append([]any{first}, append(scalarForms()[1:], map[string]any{
		"type": "array", "items": map[string]any{"anyOf": scalarForms()},
	})...)}
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

// withoutEntries removes the alternatives that are lists of entries. They stand for objects, and could not be distinguished
// from other lists.
func (f *forms) withoutEntries(written map[string]any, at string) map[string]any {
	if written == nil {
		return nil
	}
	all := flattenAnyOf([]any{written})
	kept := slices.DeleteFunc(slices.Clone(all), f.isEntries)
	if len(kept) == len(all) {
		return written
	}
	f.record(at, "type", profile.Narrower, "objects are not offered beside lists")
	return anyOf(kept)
}

// The properties of an entry, which stands for a property of an object: its name, its value, or the value as JSON text.
const (
	EntryName  = "key"
	EntryValue = "value"
	EntryJSON  = "json"
)

// isEntries reports whether a written subschema is a list of entries. A server's own list may have the same properties.
func (f *forms) isEntries(form any) bool {
	items := tree.Object(tree.Object(form)["items"])
	return items != nil && f.entryItems[tree.Address(items)] != nil
}

// onlyStrings removes the enumerated values that are neither strings nor null, because beside strings they would
// be taken for strings.
func (f *forms) onlyStrings(s map[string]any, at string) map[string]any {
	values := tree.Constants(s)
	kept := slices.DeleteFunc(slices.Clone(values), func(v any) bool { _, ok := v.(string); return !ok && v != nil })
	if len(kept) == len(values) {
		return s
	}
	f.record(at, sourceKeyword(s, "enum"), profile.Narrower, "values that are not strings are not offered beside strings")
	s = tree.Without(s, "const")
	s["enum"] = kept
	return s
}

// enumeration writes the values of s as strings, because Gemini enumerates only strings, and null as nullable. It leaves
// out the empty string, which Gemini refuses. For GoogleAI, where the description lists the
// values, numbers and booleans keep their type. It returns nil if no value can be written.
func (f *forms) enumeration(values []any, s map[string]any, at string) map[string]any {
	if len(values) == 0 {
		f.record(at, "", profile.Same, "left out, because it allows no value")
		return nil
	}
	e := spellValues(values)
	out := map[string]any{"type": "string", "format": "enum", "enum": union(e.texts, nil)}
	tree.CopyKeys(out, s, "title", "description")
	switch kind := scalarKind(union(e.kinds, nil)); {
	case f.googleAI && kind != "": // the description lists the values
		out["type"] = kind
	case e.converted:
		f.record(at, "enum", profile.Same, "the values are written as strings")
	}
	if e.null && f.googleAI {
		f.reportNull(at, "enum")
	}
	if e.empty {
		f.record(at, "enum", profile.Narrower, "the empty value is not offered")
	}
	switch {
	case len(e.texts) > 0:
	case e.null:
		return f.orNull(nil, true)
	default:
		return nil
	}
	return f.orNull(f.finish(out, s, at), e.null)
}

// spelledValues are enumerated values as strings.
type spelledValues struct {
	texts, kinds []any // the values and their types, without null and the empty string
	converted    bool  // some of them are not strings
	empty, null  bool  // the empty string, or null, is a value
}

// spellValues writes values as strings.
func spellValues(values []any) (e spelledValues) {
	for _, v := range values {
		switch text, isText := v.(string); {
		case v == nil:
			e.null = true
		case isText && text == "":
			e.empty = true
		case isText:
			e.texts, e.kinds = append(e.texts, text), append(e.kinds, tree.TypeOf(v))
		default:
			e.converted = true
			e.texts, e.kinds = append(e.texts, tree.Show(v)), append(e.kinds, tree.TypeOf(v))
		}
	}
	return e
}

// scalarKind returns the common type of values of these types if all are numbers or all are booleans, else "".
func scalarKind(kinds []any) string {
	switch {
	case len(kinds) == 2 && slices.Contains(kinds, any("integer")) && slices.Contains(kinds, any("number")):
		return "number"
	case len(kinds) == 1 && kinds[0] != "string" && kinds[0] != "array" && kinds[0] != "object":
		return tree.Text(kinds[0])
	}
	return ""
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

// sourceKeyword returns the keyword of s that was written as key.
func sourceKeyword(s map[string]any, key string) string {
	for _, other := range append([]string{key}, map[string][]string{
		"enum": {"const", "anyOf", "oneOf"}, "minItems": {"minProperties"}, "maxItems": {"maxProperties"},
	}[key]...) {
		if _, ok := s[other]; ok {
			return other
		}
	}
	return key
}
