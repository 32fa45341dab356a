package rewrite

import (
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The bounds of llama.cpp's grammars. It refuses a request if one schema of its tools exceeds them.
const (
	maxLlamaLength = 1000    // characters, exclusive
	maxLlamaItems  = 100     // exclusive
	maxLlamaNumber = 1 << 53 // a bound of a number
)

// llama removes what llama.cpp cannot turn into a grammar, and tells it in the description.
type llama struct {
	*Report
	doc *tree.Document
}

// schema writes a subschema and all below it.
func (l *llama) schema(v any, at string) any {
	in := tree.Object(v)
	if in == nil {
		return v
	}
	out := tree.Map(in, func(p tree.Place, sub any) any { return l.schema(sub, p.Join(at)) })
	l.tuple(out, at)
	for _, bound := range []struct {
		keywords []string
		most     float64
		why      string
	}{
		{[]string{"minLength", "maxLength"}, maxLlamaLength - 1, "too long for a grammar"},
		{[]string{"minItems", "maxItems"}, maxLlamaItems - 1, "too many for a grammar"},
		{[]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}, maxLlamaNumber, "too large for a grammar"},
	} {
		for _, key := range bound.keywords {
			if n, ok := tree.Rational(in[key]); ok {
				if f, _ := n.Float64(); f > bound.most || f < -bound.most {
					l.drop(out, key, at, bound.why)
				}
			}
		}
	}
	if expr, ok := in["pattern"].(string); ok {
		if why := l.whyRefused(expr); why != "" {
			l.drop(out, "pattern", at, why)
		}
	}
	tellDropped(out, in, "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern")
	return out
}

func (l *llama) drop(out map[string]any, keyword, at, why string) {
	delete(out, keyword)
	l.Note(at, keyword, profile.Wider, why+"; the description has it")
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

// tuple writes prefixItems beside items as one of the two keywords: llama.cpp reads only one of
// them, and refuses items that are false.
func (l *llama) tuple(out map[string]any, at string) {
	first := tree.List(out["prefixItems"])
	rest, ok := out["items"]
	if first == nil || !ok {
		return
	}
	least, _ := tree.Rational(out["minItems"])
	if tree.Never(rest) {
		delete(out, "items")
		out["maxItems"] = number(len(first))
		effect := profile.Narrower
		if least != nil && least.IsInt() && least.Num().Int64() >= int64(len(first)) {
			effect = profile.Same
		}
		l.Note(at, "items", effect, "the list has exactly the prefix items")
		return
	}
	delete(out, "prefixItems")
	out["items"] = map[string]any{"anyOf": append(append([]any{}, first...), rest)}
	l.Note(at, "prefixItems", profile.Wider, "each item may match any of them")
}
