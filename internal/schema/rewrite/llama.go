package rewrite

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The bounds of llama.cpp's grammars. One schema over them has it refuse the tools of the whole request.
const (
	maxLlamaLength = 1000    // of a text, exclusive
	maxLlamaItems  = 100     // exclusive
	maxLlamaNumber = 1 << 53 // of the bound of an integer
)

// llama leaves out what llama.cpp cannot make a grammar of, and tells it in words.
type llama struct {
	*Report
	doc *tree.Document
}

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
		if why := l.refuses(expr); why != "" {
			l.drop(out, "pattern", at, why)
		}
	}
	tell(out, in, "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern")
	return out
}

func (l *llama) drop(out map[string]any, keyword, at, why string) {
	delete(out, keyword)
	l.Note(at, keyword, Wider, why+"; the description has it")
}

// manyTimes matches a repetition of four digits or more.
var manyTimes = regexp.MustCompile(`\{[^}]*\d{4}`)

// refuses is why llama.cpp refuses a pattern, "" if it takes it.
func (l *llama) refuses(expr string) string {
	switch {
	case !strings.HasPrefix(expr, "^") || !strings.HasSuffix(expr, "$"):
		return "a grammar needs a pattern from ^ to $"
	case strings.Contains(expr, "(?") || manyTimes.MatchString(expr) || !l.doc.Readable(expr):
		return "a grammar cannot have the pattern"
	}
	return ""
}

// tuple writes items that are told apart by their place: llama.cpp reads either them or the others, and
// refuses false for the others.
func (l *llama) tuple(out map[string]any, at string) {
	first := tree.List(out["prefixItems"])
	rest, ok := out["items"]
	if first == nil || !ok {
		return
	}
	least, _ := tree.Rational(out["minItems"])
	if tree.Never(rest) {
		delete(out, "items")
		out["maxItems"] = json.Number(strconv.Itoa(len(first)))
		effect := Narrower
		if least != nil && least.IsInt() && least.Num().Int64() >= int64(len(first)) {
			effect = Same
		}
		l.Note(at, "items", effect, "a list of all the items, and no others")
		return
	}
	delete(out, "prefixItems")
	out["items"] = map[string]any{"anyOf": append(append([]any{}, first...), rest)}
	l.Note(at, "prefixItems", Wider, "each item may be as any of them")
}
