package rewrite

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/change"
	"github.com/mcpchain/mcpchain/internal/schema/merge"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// forms writes what needs no other subschemas.
type forms struct {
	*change.Report
	*budget
	googleAI bool
}

// asText asks for a value as JSON text.
func (f *forms) asText(at, what string, s map[string]any) map[string]any {
	f.Note(at, "", change.Wider, what+" is asked for as JSON text")
	out := map[string]any{"type": "string"}
	if about := tree.Text(s["description"]); about != "" && f.write(len(about)) {
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
	tree.CopyKeys(first, s, "description")
	if room := f.write(256 + sizeOf(first)); f.googleAI || !room {
		f.Note(at, "", change.Narrower, "of any value only texts are offered")
		return first
	}
	f.Note(at, "", change.Narrower, "of any value no objects are offered")
	out := map[string]any{"anyOf": append([]any{first}, append(scalarForms()[1:], map[string]any{
		"type": "array", "items": map[string]any{"anyOf": scalarForms()},
	})...)}
	setNullable(out)
	return out
}

func setNullable(s map[string]any) {
	if branches := tree.List(s["anyOf"]); branches != nil {
		for _, b := range branches {
			setNullable(tree.Object(b))
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
		return tree.Object(all[0])
	}
	return map[string]any{"anyOf": all}
}

// formsOf lists the forms of alternatives, which may be alternatives themselves.
func formsOf(written []any) []any {
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
	f.Note(at, "type", change.Narrower, "objects are not offered beside lists")
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
	properties := tree.Object(tree.Object(tree.Object(form)["items"])["properties"])
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
	values := tree.Constants(s)
	left := slices.DeleteFunc(slices.Clone(values), func(v any) bool { _, ok := v.(string); return !ok && v != nil })
	if len(left) == len(values) {
		return s
	}
	f.Note(at, said(s, "enum"), change.Narrower, "values that are no texts are not offered beside texts")
	s = tree.Without(s, "const")
	s["enum"] = left
	return s
}

// enumeration writes values as strings, which is what can be enumerated.
func (f *forms) enumeration(values []any, s map[string]any, at string) map[string]any {
	if len(values) == 0 {
		f.Note(at, "", change.Same, "left out, because no value fits it")
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
			odd, name = true, tree.Show(v)
		case name == "":
			empty = true
			continue
		}
		kinds, spelled = append(kinds, tree.TypeOf(v)), append(spelled, name)
	}
	out := map[string]any{"type": "string", "format": "enum", "enum": merge.Union(spelled, nil)}
	tree.CopyKeys(out, s, "title", "description")
	switch kind := plainKind(merge.Union(kinds, nil)); {
	case f.googleAI && kind != "": // its values are told in words only
		out["type"] = kind
	case odd:
		f.Note(at, "enum", change.Same, "the values are written as strings")
	}
	switch {
	case empty && len(spelled) > 0:
		f.Note(at, "enum", change.Narrower, "the empty value is not offered")
	case empty:
		f.Note(at, "enum", change.Same, "the empty text is asked for by its length")
		out = map[string]any{"type": "string", "maxLength": number(0)}
		tree.CopyKeys(out, s, "title", "description")
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
		return tree.Text(kinds[0])
	}
	return ""
}

// numbers writes the bounds of a number. The multiples of 1 are integers.
func (f *forms) numbers(out, s map[string]any, at string) {
	if step, ok := tree.Rational(s["multipleOf"]); ok && step.IsInt() {
		out["type"] = "integer"
		if step.Cmp(big.NewRat(1, 1)) == 0 {
			f.Note(at, "multipleOf", change.Same, "written as integer")
			s = tree.Without(s, "multipleOf")
		}
	}
	for _, b := range []struct {
		from, to string
		sign     int
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		limit, ok := tree.Rational(s[b.from])
		if !ok {
			continue
		}
		if inclusive, ok := tree.Rational(s[b.to]); ok && inclusive.Cmp(limit)*b.sign > 0 {
			f.Note(at, b.from, change.Same, "left out, because "+b.to+" says more")
			continue
		}
		next, ok := beyond(limit, b.sign, out["type"] == "integer")
		if !ok || f.googleAI {
			f.loosely(out, s, at, b.from)
			continue
		}
		out[b.to] = next
		f.Note(at, b.from, change.Same, "written as "+b.to)
		if out["type"] != "integer" {
			describe(out, "("+b.from+": "+tree.Show(s[b.from])+")")
		}
	}
	f.loosely(out, s, at, "multipleOf")
}

// loosely tells keywords that are left to validation in the description.
func (f *forms) loosely(out, s map[string]any, at string, keywords ...string) {
	for _, key := range keywords {
		if value, ok := s[key]; ok && (key != "uniqueItems" || value == true) {
			effect := change.Wider
			if key == "uniqueItems" {
				effect = looseness(s, key)
			}
			f.Note(at, key, effect, "told in the description")
			describe(out, "("+key+": "+tree.Show(value)+")")
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
			for name := range tree.Object(v) {
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
	for _, key := range tree.Keys(out) {
		treatment := googleWords[key]
		if treatment == keep {
			continue
		}
		switch {
		case key == "enum":
			facts = append(facts, "one of: "+strings.Join(tree.Strings(out[key]), ", "))
			for _, other := range merge.OfScalars {
				if _, ok := s[other]; ok && googleWords[other] == told {
					f.Note(at, other, change.Wider, "told by the values that are left")
				}
			}
		case key == "format" && out[key] == "enum", key != "format" && treatment == drop:
		case key == "maxLength" && tree.Constants(s) != nil:
			facts = append(facts, "the empty text")
		default:
			facts = append(facts, key+": "+tree.Show(out[key]))
		}
		if treatment == told {
			f.Note(at, said(s, key), change.Wider, "told in the description")
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
