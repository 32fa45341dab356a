package rewrite

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// geminiKind is a type, with its keywords by what becomes of them. Methods of gemini write the other keywords.
type geminiKind struct {
	name      string
	keeps     []string // copied unchanged, beside title, description and default
	lacks     []string // left to validation, beside not and if
	impliedBy []string // a subschema without a type that has one of these gets this type
}

var geminiKinds = []geminiKind{
	{"object", strings.Fields("minProperties maxProperties"), strings.Fields("dependentRequired dependentSchemas"),
		strings.Fields("properties required additionalProperties patternProperties propertyNames minProperties maxProperties")},
	{"array", strings.Fields("minItems maxItems"), strings.Fields("contains"),
		strings.Fields("items prefixItems minItems maxItems contains uniqueItems")},
	{"string", strings.Fields("pattern minLength maxLength"), nil, strings.Fields("pattern minLength maxLength format not if")},
	{"number", strings.Fields("minimum maximum"), nil, strings.Fields("minimum maximum multipleOf exclusiveMinimum exclusiveMaximum")},
	{"integer", strings.Fields("minimum maximum"), nil, nil},
	{"boolean", nil, nil, nil},
}

// findGeminiKind returns the kind with this name.
func findGeminiKind(name string) geminiKind {
	i := slices.IndexFunc(geminiKinds, func(k geminiKind) bool { return k.name == name })
	return geminiKinds[max(i, 0)]
}

// impliedKind returns the type that a keyword of a subschema without a type implies, and the keyword; "" without one.
func impliedKind(s map[string]any) (name, keyword string) {
	for _, k := range geminiKinds {
		for _, keyword := range k.impliedBy {
			if _, ok := s[keyword]; ok {
				return k.name, keyword
			}
		}
	}
	return "", ""
}

// kinds writes a subschema for each of its types, as alternatives if there are several. For GoogleAI it writes only
// the first type that can be written.
func (g *gemini) kinds(s map[string]any, at string, via []hop) map[string]any {
	all := tree.Types(s)
	nullable := slices.Contains(all, "null")
	all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "null" })
	switch {
	case nullable:
		g.reportNull(at, "type")
	case len(all) == 0:
		name, keyword := impliedKind(s)
		if name == "" {
			return g.anything(at, s)
		}
		g.record(at, "type", profile.Narrower, "the type is taken from "+keyword)
		all = []string{name}
	}
	switch {
	case len(all) < 2:
	case g.googleAI:
		g.record(at, "type", profile.Narrower, "only the first type is offered")
	default:
		g.record(at, "type", profile.Same, "the types are written as alternatives")
	}
	var written []any
	for _, name := range all {
		out := g.kind(findGeminiKind(name), s, at, via)
		if name == "object" && slices.Contains(all, "array") {
			out = g.withoutEntries(out, at)
		}
		if out != nil {
			written = append(written, out)
			if g.googleAI {
				break
			}
		}
	}
	return g.orNull(anyOf(written), nullable)
}

// kind writes a subschema of one type. It returns nil if no value of the type that is allowed can be written.
func (g *gemini) kind(k geminiKind, s map[string]any, at string, via []hop) map[string]any {
	out := map[string]any{"type": k.name}
	tree.CopyKeys(out, s, "title", "description", "default")
	tree.CopyKeys(out, s, k.keeps...)
	ok := true
	switch k.name {
	case "object":
		ok = g.object(out, s, at, via)
		if ok && out["properties"] == nil && at != "" {
			out = g.entries(s, at, via)
			ok = out != nil
		}
	case "array":
		if isMixed(tree.List(s["prefixItems"])) {
			return g.asText(at, "the list", s)
		}
		ok = g.array(out, s, at, via)
		g.describeUnwritable(out, s, at, "uniqueItems")
	case "string":
		if format := tree.Text(s["format"]); format == "date-time" {
			out["format"] = format
		} else if format != "" {
			g.record(at, "format", profile.Same, "the format is told in the description")
			describe(out, "(format: "+format+")")
		}
	case "number", "integer":
		g.numbers(out, s, at)
	}
	if !ok {
		return nil
	}
	for _, key := range append([]string{"not", "if"}, k.lacks...) {
		if _, ok := s[key]; ok {
			g.record(at, key, profile.Wider, "left to validation")
		}
	}
	for _, key := range tree.Keys(s) {
		if _, kept := out[key]; !kept && (key == "discriminator" || slices.Contains(strings.Fields(annotations), key)) {
			g.record(at, key, profile.Same, "left out")
		}
	}
	return g.finish(out, s, at)
}

// array writes the items of a list. A tuple has items of one kind; the caller writes one that isMixed as JSON text. It
// returns false if no list that is allowed can be written.
func (g *gemini) array(out, s map[string]any, at string, via []hop) bool {
	items, path, most := any(true), tree.Join(at, "items"), -1 // -1: any number of items
	if described, ok := s["items"]; ok {
		items = described
	}
	if tuple := tree.List(s["prefixItems"]); len(tuple) > 0 {
		if !tree.Never(items) {
			g.record(at, "items", profile.Narrower, "no items behind the tuple are offered")
		}
		g.record(at, "prefixItems", profile.Same, "all items are of one kind")
		path = g.path(tree.Object(tuple[0]), tree.Join(at, "prefixItems", "0"), via)
		items, most = withoutRemarks(tuple[0]), len(tuple)
	}
	written := g.schema(items, path, via)
	if written == nil {
		written, most = map[string]any{"type": "string"}, 0
	}
	out["items"] = written
	return most < 0 || g.limitItems(out, s, most, at)
}

// isMixed reports whether different items of a tuple have different rules.
func isMixed(tuple []any) bool {
	return slices.ContainsFunc(tuple, func(item any) bool { return !reflect.DeepEqual(withoutRemarks(item), withoutRemarks(tuple[0])) })
}

// withoutRemarks returns a subschema without what may differ between the items of a tuple.
func withoutRemarks(v any) any {
	if s := tree.Object(v); s != nil {
		return tree.Without(s, tree.Remarks...)
	}
	return v
}

// limitItems bounds a list to n items. It returns false if the list must be longer, or if n is 0 for GoogleAI, which cannot
// express that.
func (g *gemini) limitItems(out, s map[string]any, n int, at string) bool {
	if least, _ := decodeLimit(s["minItems"]); least > n || n == 0 && g.googleAI {
		return false
	}
	if most, ok := decodeLimit(s["maxItems"]); !ok || most > n {
		out["maxItems"] = number(n)
	}
	if g.googleAI {
		g.record(at, "items", profile.Wider, "told in the description")
	}
	return true
}

// numbers writes multipleOf and the exclusive bounds, which Gemini does not have. A multiple of an integer is an integer.
// An exclusive bound of an integer becomes the inclusive bound of the next one. Other numbers get the bound itself, and
// for GoogleAI all get a sentence of the description.
func (f *forms) numbers(out, s map[string]any, at string) {
	if step, ok := tree.Rational(s["multipleOf"]); ok && step.IsInt() {
		out["type"] = "integer"
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
			f.record(at, b.from, profile.Same, "left out, because "+b.to+" is stricter")
			continue
		}
		if out["type"] == "integer" && !f.googleAI {
			out[b.to] = nextInteger(limit, b.sign)
			f.record(at, b.from, profile.Same, "written as "+b.to)
			continue
		}
		if !f.googleAI {
			out[b.to] = s[b.from]
		}
		f.describeUnwritable(out, s, at, b.from)
	}
	f.describeUnwritable(out, s, at, "multipleOf")
}

// nextInteger returns the next integer above a limit for a sign of 1, below it for -1.
func nextInteger(limit *big.Rat, sign int) json.Number {
	n := new(big.Int).Div(limit.Num(), limit.Denom()) // rounded down
	switch {
	case sign > 0:
		n.Add(n, big.NewInt(1))
	case limit.IsInt():
		n.Sub(n, big.NewInt(1))
	}
	return json.Number(n.String())
}
