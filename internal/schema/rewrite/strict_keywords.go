package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// treatment is the way in which a keyword is written.
type treatment int

const (
	refuse        treatment = iota // the schema cannot be strict
	keep                           // copied unchanged
	structural                     // written by the methods of strict
	inDescription                  // told in the description
	drop                           // removed and reported: it does not restrict values
	forget                         // removed without a report: it means nothing to a model
)

// strictTreatments maps each keyword to its treatment in the strict subset.
var strictTreatments = treatments(map[treatment]string{
	keep:          "description pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
	structural:    "type properties required additionalProperties items enum const anyOf oneOf $ref $defs definitions format",
	inDescription: "default uniqueItems minLength maxLength minProperties maxProperties",
	drop:          annotations,
	forget:        bookkeeping,
})

// annotations are keywords that do not restrict values but may help a model.
const annotations = "title examples example deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema nullable"

// bookkeeping are keywords that only identify or describe the document.
const bookkeeping = "$schema $id id $anchor $comment"

// treatments returns the treatment of each keyword in the space-separated lists.
func treatments(by map[treatment]string) map[string]treatment {
	out := map[string]treatment{}
	for t, all := range by {
		for _, key := range strings.Fields(all) {
			out[key] = t
		}
	}
	return out
}

// strictFormats are the formats that the strict subset enforces.
var strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// keywords writes the keywords of a subschema by their treatments.
func (s *strict) keywords(in, out map[string]any, at string) bool {
	for _, key := range tree.Keys(in) {
		treatment, known := strictTreatments[key]
		switch {
		case key == "pattern" && !s.doc.Readable(tree.Text(in[key])):
			return s.fail(at, key, "the pattern is of another language")
		case treatment == keep, key == "format" && slices.Contains(strictFormats, tree.Text(in[key])):
			out[key] = in[key]
		case key == "format":
			s.record(at, key, profile.Same, "the format is told in the description")
		case treatment == forget, strings.HasPrefix(key, "x-"):
			s.silent = true
		case treatment == drop:
			s.record(at, key, profile.Same, "the annotation was removed")
		case key == "default":
			s.record(at, key, profile.Same, "the default is told in the description")
		case treatment == inDescription:
			s.record(at, key, looseness(in, key), "told in the description")
		case !known:
			return s.fail(at, key, "the keyword is not known there")
		}
	}
	return true
}

// looseness returns the effect of removing uniqueItems, or a bound of a length or of the number of properties: none if
// the rest of the subschema implies the keyword.
func looseness(in map[string]any, key string) profile.Effect {
	limit, _ := decodeLimit(in[key])
	implied := false
	switch key {
	case "minLength", "maxLength":
		isText := len(tree.Types(in)) == 0 || slices.Contains(tree.Types(in), "string")
		isEnumerated := tree.Constants(in) != nil // and all values have such lengths
		implied = !isText || isEnumerated || key == "minLength" && limit <= 0
	case "uniqueItems": // repeated items are removed before validation, which may leave one
		least, _ := decodeLimit(in["minItems"])
		implied = least <= 1
	case "minProperties":
		implied = limit <= len(tree.Strings(in["required"]))
	case "maxProperties":
		implied = limit >= len(tree.Object(in["properties"]))
	}
	if implied {
		return profile.Same
	}
	return profile.Wider
}

// decodeLimit returns a limit without its fraction. Limits above 1<<30 become 1<<30, and those below -1 become -1.
func decodeLimit(v any) (n int, ok bool) {
	limit, ok := tree.Rational(v)
	if !ok {
		return 0, false
	}
	f, _ := limit.Float64()
	return int(min(max(f, -1), 1<<30)), true
}
