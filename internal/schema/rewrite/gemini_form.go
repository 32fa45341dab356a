package rewrite

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// forms writes what needs no other subschemas.
type forms struct {
	*report
	*budget
	googleAI bool
}

// asText asks for a value as JSON text.
func (f *forms) asText(at, what string, s map[string]any) map[string]any {
	f.note(at, "", Wider, what+" is asked for as JSON text")
	out := map[string]any{"type": "string"}
	if about := text(s["description"]); about != "" && f.write(len(about)) {
		out["description"] = about
	}
	describe(out, "Write "+what+" as JSON.")
	f.write(sizeOf(out["description"]))
	return out
}

// scalarForms are the forms of texts, numbers and booleans.
func scalarForms() []any {
	return []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}, map[string]any{"type": "boolean"}}
}

// anything asks for a value without a type, in forms that need not be turned back: a
// text alone does not tell whether it is meant as JSON.
func (f *forms) anything(at string, s map[string]any) map[string]any {
	first := map[string]any{"type": "string"}
	copyKeys(first, s, "description")
	if room := f.write(256 + sizeOf(first)); f.googleAI || !room {
		f.note(at, "", Narrower, "of any value only texts are offered")
		return first
	}
	f.note(at, "", Narrower, "of any value no objects are offered")
	out := map[string]any{"anyOf": append([]any{first}, append(scalarForms()[1:], map[string]any{
		"type": "array", "items": map[string]any{"anyOf": scalarForms()},
	})...)}
	setNullable(out)
	return out
}

func setNullable(s map[string]any) {
	if branches := list(s["anyOf"]); branches != nil {
		for _, b := range branches {
			setNullable(object(b))
		}
		return
	}
	s["nullable"] = true
}

// orNull lets a value be null, which may be all that it can be. GoogleAI cannot be told.
func orNull(out map[string]any, googleAI bool) map[string]any {
	if googleAI {
		return out
	}
	if out == nil {
		out = map[string]any{"type": "string", "format": "enum", "enum": []any{"null"}, "description": "Leave it out."}
	}
	setNullable(out)
	return out
}

// joined makes one subschema of the forms of alternatives, nil for none.
func joined(written []any) map[string]any {
	all := formsOf(written)
	switch len(all) {
	case 0:
		return nil
	case 1:
		return object(all[0])
	}
	return map[string]any{"anyOf": all}
}

// formsOf lists the forms of alternatives, which may be alternatives themselves.
func formsOf(written []any) []any {
	var all []any
	for _, one := range written {
		if inner := list(object(one)["anyOf"]); inner != nil {
			all = append(all, inner...)
			continue
		}
		all = append(all, one)
	}
	return all
}

// withoutEntries leaves out lists of names and values, which stand for objects: beside
// other lists they would stay lists.
func (f *forms) withoutEntries(written map[string]any, at string) map[string]any {
	if written == nil {
		return nil
	}
	all := formsOf([]any{written})
	left := slices.DeleteFunc(slices.Clone(all), isEntries)
	if len(left) == len(all) {
		return written
	}
	f.note(at, "type", Narrower, "objects are not offered beside lists")
	return joined(left)
}

// The properties of an item that stands for a property of an object: its name,
// its value, or the value as JSON text.
const (
	EntryName  = "key"
	EntryValue = "value"
	EntryJSON  = "json"
)

// isEntries reports whether a form is a list of names and values.
func isEntries(form any) bool {
	properties := object(object(object(form)["items"])["properties"])
	for name := range properties {
		if name != EntryName && name != EntryValue && name != EntryJSON {
			return false
		}
	}
	return len(properties) > 1 && properties[EntryName] != nil
}

// onlyTexts leaves out of enumerated values all that are no texts, because beside texts
// they would be taken for such.
func (f *forms) onlyTexts(s map[string]any, at string) map[string]any {
	values := constants(s)
	left := slices.DeleteFunc(slices.Clone(values), func(v any) bool { _, ok := v.(string); return !ok && v != nil })
	if len(left) == len(values) {
		return s
	}
	f.note(at, said(s, "enum"), Narrower, "values that are no texts are not offered beside texts")
	s = without(s, "const")
	s["enum"] = left
	return s
}

// enumeration writes values as strings, which is what can be enumerated.
func (f *forms) enumeration(values []any, s map[string]any, at string) map[string]any {
	if len(values) == 0 {
		f.note(at, "", Same, "left out, because no value fits it")
		return nil
	}
	var spelled, kinds []any
	odd, empty, null := false, false, false
	for _, v := range values {
		name, isText := v.(string)
		switch {
		case v == nil:
			null = true
			continue
		case !isText:
			odd, name = true, show(v)
		case name == "":
			empty = true
			continue
		}
		kinds, spelled = append(kinds, typeOf(v)), append(spelled, name)
	}
	out := map[string]any{"type": "string", "format": "enum", "enum": union(spelled, nil)}
	copyKeys(out, s, "title", "description")
	switch kind := plainKind(union(kinds, nil)); {
	case f.googleAI && kind != "": // its values are told in words only
		out["type"] = kind
	case odd:
		f.note(at, "enum", Same, "the values are written as strings")
	}
	switch {
	case empty && len(spelled) > 0:
		f.note(at, "enum", Narrower, "the empty value is not offered")
	case empty:
		f.note(at, "enum", Same, "the empty text is asked for by its length")
		out = map[string]any{"type": "string", "maxLength": number(0)}
		copyKeys(out, s, "title", "description")
	case len(spelled) == 0:
		return orNull(nil, f.googleAI)
	}
	if out = f.finish(out, s, at); null {
		return orNull(out, f.googleAI)
	}
	return out
}

// plainKind is the type of numbers or booleans, "" for other values.
func plainKind(kinds []any) string {
	switch {
	case len(kinds) == 2 && slices.Contains(kinds, any("integer")) && slices.Contains(kinds, any("number")):
		return "number"
	case len(kinds) == 1 && kinds[0] != "string" && kinds[0] != "array" && kinds[0] != "object":
		return text(kinds[0])
	}
	return ""
}

// numbers writes the bounds of a number. The multiples of 1 are integers.
func (f *forms) numbers(out, s map[string]any, at string) {
	if step, ok := rational(s["multipleOf"]); ok && step.IsInt() {
		out["type"] = "integer"
		if step.Cmp(big.NewRat(1, 1)) == 0 {
			f.note(at, "multipleOf", Same, "written as integer")
			s = without(s, "multipleOf")
		}
	}
	for _, b := range []struct {
		from, to string
		sign     int
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		limit, ok := rational(s[b.from])
		if !ok {
			continue
		}
		if inclusive, ok := rational(s[b.to]); ok && inclusive.Cmp(limit)*b.sign > 0 {
			f.note(at, b.from, Same, "left out, because "+b.to+" says more")
			continue
		}
		next, ok := beyond(limit, b.sign, out["type"] == "integer")
		if !ok || f.googleAI {
			f.loosely(out, s, at, b.from)
			continue
		}
		out[b.to] = next
		f.note(at, b.from, Same, "written as "+b.to)
		if out["type"] != "integer" {
			describe(out, "("+b.from+": "+show(s[b.from])+")")
		}
	}
	f.loosely(out, s, at, "multipleOf")
}

// loosely tells keywords that are left to validation in the description.
func (f *forms) loosely(out, s map[string]any, at string, keywords ...string) {
	for _, key := range keywords {
		if value, ok := s[key]; ok && (key != "uniqueItems" || value == true) {
			effect := Wider
			if key == "uniqueItems" {
				effect = looseness(s, key)
			}
			f.note(at, key, effect, "told in the description")
			describe(out, "("+key+": "+show(value)+")")
		}
	}
}

// beyond is the next number after a limit, up or down: the next integer, or the
// next of the numbers of 64 bits, which is what providers compute with. Beyond
// those there is none.
func beyond(limit *big.Rat, sign int, whole bool) (json.Number, bool) {
	if whole {
		n := new(big.Int).Div(limit.Num(), limit.Denom()) // rounded down
		switch {
		case sign > 0:
			n.Add(n, big.NewInt(1))
		case limit.IsInt():
			n.Sub(n, big.NewInt(1))
		}
		return json.Number(n.String()), true
	}
	f, _ := limit.Float64()
	// What counts is the number as it is written, which is not f in full.
	for !math.IsInf(f, 0) {
		spelled := strconv.FormatFloat(f, 'g', -1, 64)
		if written, ok := new(big.Rat).SetString(spelled); ok && written.Cmp(limit)*sign > 0 {
			return json.Number(spelled), true
		}
		f = math.Nextafter(f, math.Inf(sign))
	}
	return "", false
}

// finish counts what was written of s and leaves the rest to GoogleAI's description.
func (f *forms) finish(out, s map[string]any, at string) map[string]any {
	n := 0
	for key, v := range out {
		switch key {
		case "items", "anyOf":
		case "properties":
			for name := range object(v) {
				n += len(name) + 4
			}
		default:
			n += len(key) + sizeOf(v)
		}
	}
	if !f.write(n) && at != "" {
		return f.asText(at, "the value", nil)
	}
	if f.googleAI {
		return f.carried(out, s, at)
	}
	return out
}

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
	for _, key := range keys(out) {
		treatment := googleWords[key]
		if treatment == keep {
			continue
		}
		switch {
		case key == "enum":
			facts = append(facts, "one of: "+strings.Join(names(out[key]), ", "))
			for _, other := range held {
				if _, ok := s[other]; ok && googleWords[other] == told {
					f.note(at, other, Wider, "told by the values that are left")
				}
			}
		case key == "format" && out[key] == "enum", key != "format" && treatment == drop:
		case key == "maxLength" && constants(s) != nil:
			facts = append(facts, "the empty text")
		default:
			facts = append(facts, key+": "+show(out[key]))
		}
		if treatment == told {
			f.note(at, said(s, key), Wider, "told in the description")
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
