package rewrite

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The bounds of OpenAI's structured outputs.
const (
	maxStrictProperties = 5000
	maxStrictDepth      = 10
	maxStrictEnum       = 1000
	maxStrictText       = 120_000 // bytes of all names and enumerated values
	maxStrictLong       = 250     // values of one enumeration that may have any length
	maxStrictLongText   = 15_000  // bytes of those of a longer one
)

// strictness is a schema on its way to the strict subset.
type strictness struct {
	*writer
	properties, enum, text int
	bytes                  steps // that may still be written
}

// strict writes the strict subset. When it cannot, the last change says why.
func (w *writer) strict() (map[string]any, bool) {
	root := w.flatten(object(w.modern(w.doc.Root, "")))
	if w.lossy {
		return nil, w.fail("", "", "the root has alternatives")
	}
	s := &strictness{writer: w, bytes: maxWritten}
	return s.schema(root, "", 0)
}

func (w *writer) fail(at, keyword, why string) bool {
	w.note(at, keyword, Same, "not strict: "+why)
	return false
}

// What the strict subset knows, and what it can do without.
var (
	strictKeeps = []string{
		"description", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"minItems", "maxItems",
	}
	strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

	annotationKeywords = []string{
		"title", "examples", "example", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema",
		"nullable",
	}
	// What a model makes nothing of.
	bookkeeping = []string{"$schema", "$id", "id", "$anchor", "$comment"}
	// What cannot stand beside alternatives.
	strictDemands = []string{
		"type", "properties", "required", "additionalProperties", "unevaluatedProperties", "items", "anyOf", "oneOf", "enum", "const",
		"pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems",
		"minLength", "maxLength", "minProperties", "maxProperties",
	}
	// Assertions that there are no keywords for.
	looseKeywords = []string{"minLength", "maxLength", "minProperties", "maxProperties"}
)

// schema writes one subschema. It returns false when that cannot be done.
func (s *strictness) schema(in map[string]any, at string, depth int) (map[string]any, bool) {
	if depth > maxStrictDepth {
		return nil, s.fail(at, "", "nested more than "+strconv.Itoa(maxStrictDepth)+" levels deep")
	}
	in, ok := s.distributed(in, at)
	if !ok || in["$ref"] == nil && !s.enumerable(in, at) {
		return nil, false
	}
	out := map[string]any{}
	for _, key := range keys(in) {
		switch value := in[key]; {
		case key == "pattern" && !s.doc.readable(text(value)):
			return nil, s.fail(at, key, "the pattern is of another language")
		case slices.Contains(strictKeeps, key):
			out[key] = value
		case slices.Contains(bookkeeping, key), strings.HasPrefix(key, "x-"):
			s.silent = true
		case slices.Contains(annotationKeywords, key):
			s.note(at, key, Same, "the annotation was removed")
		case key == "default":
			s.note(at, key, Same, "the default is told in the description")
		case key == "format" && slices.Contains(strictFormats, text(value)):
			out[key] = value
		case key == "format":
			s.note(at, key, Same, "the format is told in the description")
		case key == "uniqueItems":
			s.note(at, key, uniqueness(in), "told in the description")
		case key == "minProperties" || key == "maxProperties":
			s.note(at, key, sized(in, key), "told in the description")
		case slices.Contains(looseKeywords, key):
		case !slices.Contains([]string{
			"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "$ref", "$defs", "definitions",
		}, key):
			return nil, s.fail(at, key, "the keyword is not known there")
		}
	}
	tell(out, in, append([]string{"default", "format", "uniqueItems"}, looseKeywords...), out)
	if !s.lengths(in, out, at) {
		return nil, false
	}
	for _, step := range []func(in, out map[string]any, at string, depth int) bool{s.definitions, s.reference, s.values, s.union, s.kind} {
		if !step(in, out, at, depth) {
			return nil, false
		}
	}
	return out, true
}

// sized is the effect of leaving out how many properties an object has: some or
// all of them are required, and there are no others.
func sized(in map[string]any, key string) Effect {
	limit, ok := rational(in[key])
	switch {
	case ok && key == "minProperties" && limit.Cmp(rat(len(names(in["required"])))) <= 0,
		ok && key == "maxProperties" && limit.Cmp(rat(len(object(in["properties"])))) >= 0:
		return Same
	}
	return Wider
}

// tell adds to the description what keywords say that are not in have.
func tell(out, in map[string]any, keywords []string, have map[string]any) {
	var facts []string
	for _, key := range keywords {
		if value, ok := in[key]; ok {
			if _, kept := have[key]; !kept {
				facts = append(facts, key+": "+show(value))
			}
		}
	}
	if len(facts) > 0 {
		describe(out, "("+strings.Join(facts, ", ")+")")
	}
}

func (s *strictness) definitions(in, out map[string]any, at string, _ int) bool {
	for _, key := range []string{"definitions", "$defs"} {
		defs := object(in[key])
		if len(defs) == 0 {
			continue
		}
		if at != "" {
			return s.fail(at, key, "definitions are not at the root")
		}
		all := object(out["$defs"])
		if all == nil {
			all = map[string]any{}
		}
		for _, name := range keys(defs) {
			def, ok := s.schema(object(defs[name]), join(at, key, name), 1)
			if !ok {
				return false
			}
			all[name] = def
			s.text += len(name)
		}
		if s.text > maxStrictText {
			return s.fail(at, key, "the names are too long")
		}
		out["$defs"] = all
	}
	return true
}

// reference writes a $ref, which stands alone in the strict subset.
func (s *strictness) reference(in, out map[string]any, at string, _ int) bool {
	ref, ok := in["$ref"].(string)
	if !ok {
		return true
	}
	if ref != "#" {
		name, ok := definition(ref)
		if !ok {
			return s.fail(at, "$ref", "the reference leads elsewhere than to a definition")
		}
		plain := "#/$defs/" + name
		if ref != plain {
			s.note(at, "$ref", Same, "definitions are called $defs")
		}
		ref = plain
	}
	for _, key := range []string{"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf"} {
		if _, ok := in[key]; ok {
			return s.fail(at, "$ref", "the reference has "+key+" beside it")
		}
	}
	if len(out) == 0 {
		out["$ref"] = ref
		return true
	}
	about, described := out["description"]
	for _, key := range keys(out) {
		if key != "description" {
			return s.fail(at, "$ref", "the reference has "+key+" beside it")
		}
	}
	clear(out)
	if described {
		out["description"] = about
	}
	out["anyOf"] = []any{map[string]any{"$ref": ref}}
	s.note(at, "$ref", Same, "the reference is set apart from its description")
	return true
}

// definition is the name, as it is spelled, of the definition that a reference
// leads to. It returns false for another one.
func definition(ref string) (name string, ok bool) {
	place, ok := strings.CutPrefix(ref, "#/")
	keyword, name, named := strings.Cut(place, "/")
	keyword, err := url.PathUnescape(keyword)
	return name, ok && named && err == nil && (keyword == "$defs" || keyword == "definitions") && !strings.Contains(name, "/")
}

// values writes enum and const.
func (s *strictness) values(in, out map[string]any, at string, _ int) bool {
	values := list(in["enum"])
	if v, ok := in["const"]; ok {
		values = []any{v}
		s.note(at, "const", Same, "the constant is written as an enumeration")
	}
	if values == nil {
		return true
	}
	if values = s.doc.fitting(in, values); len(values) == 0 {
		return s.fail(at, "enum", "no value fits it")
	}
	s.enum += len(values)
	length := 0
	for _, v := range values {
		length += len(text(v))
		switch v.(type) {
		case []any, map[string]any:
			return s.fail(at, "enum", "it has values that are no scalars")
		}
	}
	s.text += length
	if s.enum > maxStrictEnum || s.text > maxStrictText || len(values) > maxStrictLong && length > maxStrictLongText {
		return s.fail(at, "enum", "there are too many enumerated values")
	}
	out["enum"] = slices.Clone(values)
	if len(types(in)) == 0 {
		var all []string
		for _, v := range values {
			if name := typeOf(v); !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		setTypes(out, all)
		s.note(at, "type", Same, "the type of the values is spelled out")
	}
	return true
}

func setTypes(out map[string]any, all []string) {
	if len(all) == 1 {
		out["type"] = all[0]
		return
	}
	out["type"] = anys(all)
}

// kind writes the type and what belongs to it.
func (s *strictness) kind(in, out map[string]any, at string, depth int) bool {
	all := types(in)
	switch {
	case len(all) > 0:
	case in["properties"] != nil:
		all = []string{"object"}
	case in["items"] != nil:
		all = []string{"array"}
	case out["anyOf"] != nil || out["$ref"] != nil || out["enum"] != nil:
		return true
	default:
		return s.fail(at, "type", "any value is allowed")
	}
	setTypes(out, all)
	if slices.Contains(all, "array") {
		items, ok := s.schema(object(in["items"]), join(at, "items"), depth+1)
		if !ok {
			return false
		}
		out["items"] = items
	}
	if slices.Contains(all, "object") {
		return s.object(in, out, at, depth)
	}
	return true
}
