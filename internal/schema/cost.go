package schema

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// What is as much work as one step.
const (
	valuesPerStep       = 4     // that are compared or looked up
	membersPerStep      = 16    // of a value, which all that is applied to it may note
	textPerStep         = 256   // bytes of enumerated text, which an error repeats, and of a value, which the validator quotes
	namesPerStep        = 64    // bytes of a name, which is quoted several times
	digitsPerStep       = 128   // of numbers that are computed with
	namePairsPerStep    = 512   // of names that are looked for one by one
	openPerStep         = 256   // applications around one, which are looked through
	workPerStep         = 1_024 // instructions times bytes that a pattern is matched with
	instructionsPerStep = 8     // that patterns of names are compiled to, each time
)

// own counts what one subschema says of v itself.
func (w *work) own(s *jsonschema.Schema, v any) bool {
	n := 1 + w.depth/openPerStep + w.fixedOf(s) + placeOf(s)
	switch v := v.(type) {
	case string:
		n += len(v) / textPerStep
		if s.Pattern != nil {
			n += w.sizes[*s.Pattern] * (1 + len(v)) / workPerStep
		}
	case json.Number:
		n += (digits(v) + limits(s)) / digitsPerStep
	case []any:
		n += w.noted(s, len(v))
		if s.UniqueItems != nil && *s.UniqueItems {
			n += steps(v)
		}
	case map[string]any:
		n += w.noted(s, len(v)) + w.names(s, v)
	}
	return w.spend(n)
}

// placeOf counts the telling where s is.
func placeOf(s *jsonschema.Schema) int { return len(s.SchemaURI()) / textPerStep }

// noted counts the noting of members and items that are evaluated by s or by what it
// applies to the same value.
func (w *work) noted(s *jsonschema.Schema, members int) int {
	if s.Boolean != nil || s.ResolvedRef != nil || s.ResolvedDynamicRef != nil || s.If != nil || s.Not != nil ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.DependentSchemas)+len(s.PrefixItems) > 0 || ofItems(s) || ofMembers(s) {
		return members / membersPerStep
	}
	return 0
}

// fixedOf counts what a subschema takes whatever it is applied to: comparing with
// enumerated values, and quoting names and the like.
func (w *work) fixedOf(s *jsonschema.Schema) int {
	if len(s.Enum) == 0 && s.Const == nil && len(s.Required) == 0 && len(s.Type) < valuesPerStep {
		return 0
	}
	n, known := w.fixed[s]
	if known {
		return n
	}
	n = steps(s.Enum) + len(s.Type)/valuesPerStep
	if s.Const != nil {
		n += steps([]any{s.Const.Value})
	}
	for _, name := range s.Required {
		n += len(name) / textPerStep
	}
	if w.fixed == nil {
		w.fixed = map[*jsonschema.Schema]int{}
	}
	w.fixed[s] = n
	return n
}

// names counts the looking for names, in v and in s.
func (w *work) names(s *jsonschema.Schema, v map[string]any) int {
	n := len(s.Required) + len(s.DependentSchemas)
	if s.Properties != nil {
		n += len(*s.Properties)
	}
	for name := range s.DependentRequired {
		if _, there := v[name]; there {
			n += len(s.DependentRequired[name])
		}
	}
	n /= valuesPerStep
	if s.Properties != nil && len(v) < len(*s.Properties) { // each that is missing is sought among the required
		n += (len(*s.Properties) - len(v)) * len(s.Required) / namePairsPerStep
	}
	if s.PatternProperties != nil {
		n += w.patternsOfNames(s, v)
	}
	return n
}

// patternsOfNames counts the compiling of the patterns of names and their matching,
// twice where there are further names.
func (w *work) patternsOfNames(s *jsonschema.Schema, v map[string]any) int {
	size := 0
	for expr := range *s.PatternProperties {
		size += w.sizes[expr]
	}
	text := 0
	for name := range v {
		text += 1 + len(name)
	}
	n := size/instructionsPerStep + 2*size*text/workPerStep + len(v)*len(*s.PatternProperties)/membersPerStep
	return n + len(v)*len(v)/namePairsPerStep // all that do not fit are listed once
}

// steps is what comparing with all of a list takes.
func steps(all []any) int {
	values, text := size(all)
	return values/valuesPerStep + text/textPerStep
}

// size counts the values of a list, with all inside, and the bytes of their text.
func size(all []any) (values, text int) {
	for _, v := range all {
		values++
		switch v := v.(type) {
		case string:
			text += len(v)
		case json.Number:
			text += digits(v)
		case []any:
			n, inside := size(v)
			values, text = values+n, text+inside
		case map[string]any:
			for name, member := range v {
				n, inside := size([]any{member})
				values, text = values+n, text+inside+len(name)
			}
		}
	}
	return values, text
}

// digits counts those of a number, written or implied.
func digits(n json.Number) int {
	_, power, _ := strings.Cut(strings.ToLower(string(n)), "e")
	exponent, _ := strconv.Atoi(power)
	return len(n) + max(exponent, -exponent)
}

// limits counts the digits of the numbers that s compares with.
func limits(s *jsonschema.Schema) int {
	const bitsPerDigit = 3
	bits := 0
	for _, limit := range []*jsonschema.Rat{s.MultipleOf, s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
		if limit != nil && limit.Rat != nil {
			bits += bitLen(limit.Rat)
		}
	}
	return bits / bitsPerDigit
}

func bitLen(r *big.Rat) int { return r.Num().BitLen() + r.Denom().BitLen() }
