package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// Amounts of work that cost one step.
const (
	valuesPerStep       = 4     // compared or looked up
	membersPerStep      = 16    // members of a value; each applied subschema may note which ones it evaluates
	textPerStep         = 256   // bytes of enumerated text (an error repeats it) and of a value (the validator quotes it)
	namesPerStep        = 64    // bytes of a name; it is quoted several times
	digitsPerStep       = 128   // digits of numbers in computations
	namePairsPerStep    = 512   // pairs of names in a linear search
	openPerStep         = 256   // enclosing applications, searched each time
	workPerStep         = 1_024 // instructions times bytes of a match
	instructionsPerStep = 8     // instructions of patterns of names, which are compiled each time
)

// countKeywords spends the steps of the keywords of one subschema that are about v itself.
func (w *work) countKeywords(s *jsonschema.Schema, v any) bool {
	n := 1 + w.depth/openPerStep + w.fixedSteps(s) + locationSteps(s)
	switch v := v.(type) {
	case string:
		n += len(v) / textPerStep
		if s.Pattern != nil {
			n += w.sizes[*s.Pattern] * (1 + len(v)) / workPerStep
		}
	case json.Number:
		n += (digits(v) + limits(s)) / digitsPerStep
	case []any:
		n += w.evaluatedMembers(s, len(v))
		if s.UniqueItems != nil && *s.UniqueItems {
			n += steps(v)
		}
	case map[string]any:
		n += w.evaluatedMembers(s, len(v)) + w.nameSearch(s, v)
	}
	return w.spend(n)
}

// locationSteps returns the steps for naming the location of s.
func locationSteps(s *jsonschema.Schema) int { return len(s.SchemaURI()) / textPerStep }

// evaluatedMembers returns the steps for noting the members or items of a value that s evaluates. The
// validator notes them once more for each subschema that s applies to the same value.
func (w *work) evaluatedMembers(s *jsonschema.Schema, members int) int {
	if s.Boolean != nil || s.ResolvedRef != nil || s.ResolvedDynamicRef != nil || s.If != nil || s.Not != nil ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.DependentSchemas)+len(s.PrefixItems) > 0 || hasItemRules(s) || hasMemberRules(s) {
		return members / membersPerStep
	}
	return 0
}

// fixedSteps returns the steps of a subschema that are the same for any value:
// comparing with enumerated values, quoting names and so on.
func (w *work) fixedSteps(s *jsonschema.Schema) int {
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

// nameSearch returns the steps for the search for names, in v and in s.
func (w *work) nameSearch(s *jsonschema.Schema, v map[string]any) int {
	n := len(s.Required) + len(s.DependentSchemas)
	if s.Properties != nil {
		n += len(*s.Properties)
	}
	for name := range s.DependentRequired {
		if _, present := v[name]; present {
			n += len(s.DependentRequired[name])
		}
	}
	n /= valuesPerStep
	if s.Properties != nil && len(v) < len(*s.Properties) { // each missing name is sought among the required
		n += (len(*s.Properties) - len(v)) * len(s.Required) / namePairsPerStep
	}
	if s.PatternProperties != nil {
		n += w.patternsOfNames(s, v)
	}
	return n
}

// patternsOfNames counts compiling and matching the patterns of names, twice if there are further names.
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
	return n + len(v)*len(v)/namePairsPerStep // all names without a match are listed once
}

// steps counts the comparison with all values of a list.
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

// digits counts the digits of a number, written or implied.
func digits(n json.Number) int {
	_, power, _ := strings.Cut(strings.ToLower(string(n)), "e")
	exponent, _ := strconv.Atoi(power)
	return len(n) + max(exponent, -exponent)
}

// limits counts the digits of the numbers in s.
func limits(s *jsonschema.Schema) int {
	const bitsPerDigit = 3
	bits := 0
	for _, limit := range []*jsonschema.Rat{s.MultipleOf, s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
		if limit != nil && limit.Rat != nil {
			bits += limit.Num().BitLen() + limit.Denom().BitLen()
		}
	}
	return bits / bitsPerDigit
}
