package rewrite

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// llamaBounds are the largest bounds that llama.cpp writes into a grammar. It refuses a request if one schema of its
// tools exceeds them.
var llamaBounds = []struct {
	keywords []string
	most     float64
	why      string
}{
	{[]string{"minLength", "maxLength"}, 999, "too long for a grammar"},
	{[]string{"minItems", "maxItems"}, 99, "too many for a grammar"},
	{[]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}, 1 << 53, "too large for a grammar"},
}

// llama writes subschemas that llama.cpp can turn into a grammar. Bounds and patterns that it cannot move to the
// description.
type llama struct {
	*report
	doc *document
}

// schema writes a subschema and all below it.
func (l *llama) schema(v any, at string) any {
	in := tree.Object(v)
	if in == nil {
		return v
	}
	out := tree.Map(in, func(p tree.Place, sub any) any { return l.schema(sub, p.Join(at)) })
	if out["$ref"] != nil && tree.HasAny(out, assertions) {
		l.record(at, "", profile.Wider, "llama.cpp reads the reference and not the keywords beside it")
	}
	l.tuple(out, at)
	l.dropBounds(out, at)
	l.alternatives(out, at)
	l.doc.places[tree.Address(out)] = at
	return out
}

// dropBounds moves the bounds and the pattern that a grammar cannot express to the description.
func (l *llama) dropBounds(out map[string]any, at string) {
	dropped := map[string]any{}
	drop := func(keyword, why string) {
		dropped[keyword] = out[keyword]
		delete(out, keyword)
		l.record(at, keyword, profile.Wider, why+"; the description has it")
	}
	for _, bound := range llamaBounds {
		for _, keyword := range bound.keywords {
			if n, ok := tree.Rational(out[keyword]); ok {
				if f, _ := n.Float64(); f > bound.most || f < -bound.most {
					drop(keyword, bound.why)
				}
			}
		}
	}
	if expr, ok := out["pattern"].(string); ok {
		if why := l.whyRefused(expr); why != "" {
			drop("pattern", why)
		}
	}
	describeDropped(out, dropped, tree.Keys(dropped)...)
}

// maxCopies bounds the keywords that are copied into alternatives, in bytes.
const maxCopies = 64 << 10

// alternatives copies the keywords beside alternatives into each with which they can be merged, up to maxCopies together:
// llama.cpp reads only the alternatives.
func (l *llama) alternatives(out map[string]any, at string) {
	key := "oneOf" // llama.cpp prefers it
	if out[key] == nil {
		key = "anyOf"
	}
	all := slices.Clone(tree.List(out[key]))
	beside := map[string]any{}
	tree.CopyKeys(beside, out, assertions...)
	delete(beside, "anyOf")
	delete(beside, "oneOf")
	if len(beside) == 0 || size(beside)*len(all) > maxCopies {
		return
	}
	changed := false
	for i, a := range all {
		one := tree.Object(a)
		if one == nil || one["$ref"] != nil {
			continue
		}
		merged, lost := merge(one, beside)
		if len(lost) == 0 && !reflect.DeepEqual(merged, one) {
			all[i], changed = merged, true
		}
	}
	if changed {
		out[key] = all
		l.record(at, key, profile.Same, "the keywords beside the alternatives are copied into each")
	}
}

// manyTimes matches a repetition of four digits or more.
var manyTimes = regexp.MustCompile(`\{[^}]*\d{4}`)

// whyRefused returns why llama.cpp refuses a pattern, "" if it accepts it.
func (l *llama) whyRefused(expr string) string {
	switch {
	case !strings.HasPrefix(expr, "^") || !strings.HasSuffix(expr, "$"):
		return "a grammar needs a pattern from ^ to $"
	case strings.Contains(expr, "(?") || manyTimes.MatchString(expr) || !l.doc.Readable(expr):
		return "a grammar cannot express the pattern"
	}
	return ""
}

// tuple writes prefixItems and items as one of the two keywords, because llama.cpp reads only one of them and refuses items
// that are false. It reports that llama.cpp writes exactly the prefix items.
func (l *llama) tuple(out map[string]any, at string) {
	first := tree.List(out["prefixItems"])
	rest, hasItems := out["items"]
	closed := hasItems && tree.Never(rest)
	switch {
	case first == nil:
		return
	case hasItems && !closed:
		delete(out, "prefixItems")
		out["items"] = map[string]any{"anyOf": append(append([]any{}, first...), rest)}
		l.record(at, "prefixItems", profile.Wider, "each item may match any of them")
		return
	}
	least, _ := decodeLimit(out["minItems"])
	most, bounded := decodeLimit(out["maxItems"])
	effect, keyword := profile.Narrower, "prefixItems"
	if least >= len(first) && (closed || bounded && most <= len(first)) {
		effect = profile.Same
	}
	if closed {
		keyword = "items"
		delete(out, "items")
		if !bounded || most > len(first) {
			out["maxItems"] = number(len(first))
		}
	}
	if closed || effect != profile.Same {
		l.record(at, keyword, effect, "the list has exactly the prefix items")
	}
}

// nameRoot writes the root as a definition, too, if the schema refers to it, and changes the references: llama.cpp does
// not follow "#". A schema with another document inside stays as it is.
func (l *llama) nameRoot(root map[string]any) {
	var references []map[string]any
	for s := range tree.All(root) {
		if tree.Text(s["$id"]) != "" && !tree.Same(s, root) {
			return // below it "#" is another root
		}
		if s["$ref"] == "#" {
			references = append(references, s)
		}
	}
	if references == nil {
		return
	}
	defs := maps.Clone(tree.Object(root["$defs"]))
	if defs == nil {
		defs = map[string]any{}
	}
	name := "root"
	for n := 2; defs[name] != nil; n++ {
		name = "root" + strconv.Itoa(n)
	}
	for _, s := range references {
		s["$ref"] = "#/$defs/" + name
	}
	defs[name] = tree.Without(root, "$defs", "definitions", "$schema", "$id", "$anchor")
	root["$defs"] = defs
	l.record("", "$ref", profile.Same, "the root is written as a definition, too")
}
