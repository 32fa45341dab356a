package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// treatment says what becomes of a keyword.
type treatment int

const (
	refuse treatment = iota // the schema cannot be written
	keep                    // as it is
	form                    // by the form of the subschema
	told                    // in the description
	drop                    // it demands nothing
	forget                  // a model makes nothing of it
)

// strictWords says what the strict subset makes of each keyword.
var strictWords = words(map[treatment]string{
	keep: "description pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
	form: "type properties required additionalProperties items enum const anyOf oneOf $ref $defs definitions minLength maxLength format",
	told: "default uniqueItems minProperties maxProperties",
	drop: annotationWords, forget: bookkeeping,
})

// annotationWords demand nothing, and a model could make something of them.
const annotationWords = "title examples example deprecated readOnly writeOnly contentEncoding contentMediaType contentSchema nullable"

// bookkeeping is for the readers of documents.
const bookkeeping = "$schema $id id $anchor $comment"

func words(by map[treatment]string) map[string]treatment {
	out := map[string]treatment{}
	for t, all := range by {
		for _, key := range strings.Fields(all) {
			out[key] = t
		}
	}
	return out
}

// strictFormats are the formats that the strict subset holds models to.
var strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// keywords writes the keywords of a subschema that stand for themselves.
func (s *strict) keywords(in, out map[string]any, at string) bool {
	for _, key := range tree.Keys(in) {
		treatment, known := strictWords[key]
		switch {
		case key == "pattern" && !s.doc.Readable(tree.Text(in[key])):
			return s.fail(at, key, "the pattern is of another language")
		case treatment == keep, key == "format" && slices.Contains(strictFormats, tree.Text(in[key])):
			out[key] = in[key]
		case key == "format":
			s.Note(at, key, Same, "the format is told in the description")
		case treatment == forget, strings.HasPrefix(key, "x-"):
			s.Silent = true
		case treatment == drop:
			s.Note(at, key, Same, "the annotation was removed")
		case key == "default":
			s.Note(at, key, Same, "the default is told in the description")
		case treatment == told:
			s.Note(at, key, looseness(in, key), "told in the description")
		case !known:
			return s.fail(at, key, "the keyword is not known there")
		}
	}
	return s.lengths(in, out, at)
}

// looseness is the effect of leaving a keyword out.
func looseness(in map[string]any, key string) Effect {
	n, _ := limitOf(in[key])
	least, _ := limitOf(in["minItems"])
	switch {
	case key == "uniqueItems" && least <= 1, // repeated items are taken out before validation
		key == "minProperties" && n <= len(tree.Strings(in["required"])),
		key == "maxProperties" && n >= len(tree.Object(in["properties"])):
		return Same
	}
	return Wider
}

// maxPatternLength bounds the lengths that are written as patterns: a provider's
// grammar grows with them.
const maxPatternLength = 256

// lengths writes minLength and maxLength as a pattern, if there is no other.
func (s *strict) lengths(in, out map[string]any, at string) bool {
	least, hasLeast := limitOf(in["minLength"])
	most, hasMost := limitOf(in["maxLength"])
	all := tree.Types(in)
	switch {
	case !hasLeast && !hasMost:
		return true
	case hasMost && most < least:
		return s.fail(at, "maxLength", "no text is as long")
	case len(all) > 0 && !slices.Contains(all, "string"), tree.Constants(in) != nil:
		s.Note(at, "minLength", Same, "left out, because it says nothing more")
		return true
	}
	_, patterned := out["pattern"]
	if least == 1 && out["format"] != nil { // no such format fits the empty text
		s.Note(at, "minLength", Same, "the format says it")
		least, hasLeast = 0, false
	}
	for key, limit := range map[string]int{"minLength": least, "maxLength": most} {
		switch {
		case limit == 0 && (key == "minLength" || !hasMost):
		case patterned:
			s.Note(at, key, Wider, "told in the description, because there is a pattern")
		case limit > maxPatternLength:
			s.Note(at, key, Wider, "told in the description, because it is over "+strconv.Itoa(maxPatternLength))
		}
	}
	hasLeast, hasMost = hasLeast && least > 0 && least <= maxPatternLength, hasMost && most <= maxPatternLength
	if patterned || !hasLeast && !hasMost {
		return true
	}
	if out["format"] != nil {
		delete(out, "format")
		s.Note(at, "format", Same, "the format is told in the description, because a pattern says the length")
	}
	upper, key := "", "minLength"
	if hasMost {
		upper, key = strconv.Itoa(most), "maxLength"
	}
	quantifier := "{" + strconv.Itoa(least) + "," + upper + "}"
	if quantifier == "{1,}" {
		quantifier = "+"
	}
	out["pattern"] = `^[\s\S]` + quantifier + "$"
	s.Note(at, key, Same, "written as a pattern")
	return true
}

// limitOf reads a limit. All beyond what patterns can say are alike.
func limitOf(v any) (n int, ok bool) {
	limit, ok := tree.Rational(v)
	if !ok {
		return 0, false
	}
	f, _ := limit.Float64()
	return int(min(f, 1<<30)), true
}
