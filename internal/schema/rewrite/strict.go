package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The bounds of OpenAI's structured outputs.
const (
	maxStrictProperties = 5000
	maxStrictDepth      = 10
	maxStrictEnum       = 1000
	maxStrictText       = 120_000 // bytes of all names and enumerated values
	maxStrictLong       = 250     // values of one enumeration that may have any length
	maxStrictLongText   = 15_000  // bytes of the values of a longer one
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

// strict writes subschemas in the strict subset. It returns nil, with a reason, if
// that cannot be done.
type strict struct {
	*report
	doc                    *tree.Document
	budget                 *budget
	properties, enum, text int
}

// writeStrict writes a schema. If it returns false, the last change says why.
func writeStrict(root map[string]any, r *report, room *Room) (map[string]any, bool) {
	d := modern(OpenAIStrict, followRoot(root, r), r)
	s := &strict{report: r, doc: d.doc, budget: room.budget()}
	defer func() { room.written += room.budget().bytes - s.budget.bytes }()
	in := d.doc.Root
	objectRoot(in, RefersToRoot(root), r)
	out := s.schema(in, "", 0)
	if out == nil {
		return nil, false
	}
	if name := Wrapper(root); out["anyOf"] != nil || out["enum"] != nil || out["$ref"] != nil {
		if name == "" || RefersToRoot(d.doc.Root) {
			return nil, s.fail("", "", "the root has alternatives")
		}
		defs, there := out["$defs"]
		delete(out, "$defs")
		out = wrapped(name, out)
		out["additionalProperties"] = false
		if there {
			out["$defs"] = defs
		}
		r.changes = slices.Insert(r.changes, 0, Change{Effect: Same, Note: wrapNote(name)})
	}
	return out, true
}

// schema writes one subschema.
func (s *strict) schema(in map[string]any, at string, depth int) map[string]any {
	if depth > maxStrictDepth {
		s.fail(at, "", "nested more than "+strconv.Itoa(maxStrictDepth)+" levels deep")
		return nil
	}
	branches, key, ok := s.alternatives(in, at)
	if !ok {
		return nil
	}
	if branches != nil {
		in = without(in, demands...)
	}
	out := map[string]any{}
	if !s.listed(in, at) || !s.keywords(in, out, at) {
		return nil
	}
	tell(out, in, "default", "format", "uniqueItems", "minLength", "maxLength", "minProperties", "maxProperties")
	switch ref, isRef := in["$ref"].(string); {
	case !s.definitions(in, out, at):
		return nil
	case branches != nil:
		ok = s.union(branches, out, key, at, depth)
	case isRef:
		ok = s.reference(ref, in, out, at)
	default:
		ok = s.values(in, out, at) && s.kind(in, out, at, depth)
	}
	if !ok {
		return nil
	}
	return out
}

// demands are the keywords that cannot stand beside alternatives.
var demands = strings.Fields("type properties required additionalProperties unevaluatedProperties items anyOf oneOf enum const " +
	"pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems uniqueItems " +
	"minLength maxLength minProperties maxProperties")

// alternatives lists the alternatives of a subschema, each with what stands beside them.
func (s *strict) alternatives(in map[string]any, at string) (branches []any, key string, ok bool) {
	key = "anyOf"
	if in[key] == nil {
		key = "oneOf"
	}
	all := list(in[key])
	if all == nil {
		return nil, "", true
	}
	base := map[string]any{}
	copyKeys(base, in, demands...)
	delete(base, key)
	if len(base) == 0 && in["$ref"] == nil {
		return all, key, true
	}
	for _, b := range all {
		if kind := types(s.doc.Plain(b)); object(b)["$ref"] != nil && only(base, "type") && len(kind) > 0 && slices.Equal(kind, types(base)) {
			branches = append(branches, b)
			continue
		}
		if !s.budget.work(breadth(base)+breadth(object(b))) || !s.budget.write(sizeOf(base)) {
			return nil, key, s.fail(at, key, "what stands beside the alternatives is too large to be written in each")
		}
		merged, lost := merge(object(b), base)
		if len(lost) > 0 || in["$ref"] != nil {
			return nil, key, s.fail(at, key, "the alternatives have other keywords beside them")
		}
		branches = append(branches, merged)
	}
	s.note(at, key, Same, "what stands beside the alternatives is written in each")
	return branches, key, true
}

// keywords writes the keywords of a subschema that stand for themselves.
func (s *strict) keywords(in, out map[string]any, at string) bool {
	for _, key := range keys(in) {
		treatment, known := strictWords[key]
		switch {
		case key == "pattern" && !s.doc.Readable(text(in[key])):
			return s.fail(at, key, "the pattern is of another language")
		case treatment == keep, key == "format" && slices.Contains(strictFormats, text(in[key])):
			out[key] = in[key]
		case key == "format":
			s.note(at, key, Same, "the format is told in the description")
		case treatment == forget, strings.HasPrefix(key, "x-"):
			s.silent = true
		case treatment == drop:
			s.note(at, key, Same, "the annotation was removed")
		case key == "default":
			s.note(at, key, Same, "the default is told in the description")
		case treatment == told:
			s.note(at, key, looseness(in, key), "told in the description")
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
		key == "minProperties" && n <= len(names(in["required"])),
		key == "maxProperties" && n >= len(object(in["properties"])):
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
	all := types(in)
	switch {
	case !hasLeast && !hasMost:
		return true
	case hasMost && most < least:
		return s.fail(at, "maxLength", "no text is as long")
	case len(all) > 0 && !slices.Contains(all, "string"), constants(in) != nil:
		s.note(at, "minLength", Same, "left out, because it says nothing more")
		return true
	}
	_, patterned := out["pattern"]
	if least == 1 && out["format"] != nil { // no such format fits the empty text
		s.note(at, "minLength", Same, "the format says it")
		least, hasLeast = 0, false
	}
	for key, limit := range map[string]int{"minLength": least, "maxLength": most} {
		switch {
		case limit == 0 && (key == "minLength" || !hasMost):
		case patterned:
			s.note(at, key, Wider, "told in the description, because there is a pattern")
		case limit > maxPatternLength:
			s.note(at, key, Wider, "told in the description, because it is over "+strconv.Itoa(maxPatternLength))
		}
	}
	hasLeast, hasMost = hasLeast && least > 0 && least <= maxPatternLength, hasMost && most <= maxPatternLength
	if patterned || !hasLeast && !hasMost {
		return true
	}
	if out["format"] != nil {
		delete(out, "format")
		s.note(at, "format", Same, "the format is told in the description, because a pattern says the length")
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
	s.note(at, key, Same, "written as a pattern")
	return true
}

// limitOf reads a limit. All beyond what patterns can say are alike.
func limitOf(v any) (n int, ok bool) {
	limit, ok := rational(v)
	if !ok {
		return 0, false
	}
	f, _ := limit.Float64()
	return int(min(f, 1<<30)), true
}

func (s *strict) definitions(in, out map[string]any, at string) bool {
	for _, key := range []string{"definitions", "$defs"} {
		defs := object(in[key])
		if len(defs) == 0 {
			continue
		}
		if at != "" {
			return s.fail(at, key, "definitions are not at the root")
		}
		all := maps.Clone(object(out["$defs"]))
		if all == nil {
			all = map[string]any{}
		}
		for _, name := range keys(defs) {
			def := s.schema(object(defs[name]), tree.Join(at, key, name), 1)
			if def == nil {
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
func (s *strict) reference(ref string, in, out map[string]any, at string) bool {
	if ref != "#" {
		place, ok := tree.Fragment(ref)
		segments := strings.Split(place, "/")
		if !ok || len(segments) != 3 || segments[0] != "" || segments[1] != "$defs" && segments[1] != "definitions" {
			return s.fail(at, "$ref", "the reference leads elsewhere than to a definition")
		}
		_, name, _ := strings.Cut(ref[2:], "/")
		if plain := "#/$defs/" + name; ref != plain {
			s.note(at, "$ref", Same, "definitions are called $defs")
			ref = plain
		}
	}
	for _, key := range append(keys(out), keys(in)...) {
		if slices.Contains(demands, key) || key != "description" && out[key] != nil {
			return s.fail(at, "$ref", "the reference has "+key+" beside it")
		}
	}
	if len(out) == 0 {
		out["$ref"] = ref
		return true
	}
	out["anyOf"] = []any{map[string]any{"$ref": ref}}
	s.note(at, "$ref", Same, "the reference is set apart from its description")
	return true
}

// values writes enum and const.
func (s *strict) values(in, out map[string]any, at string) bool {
	if constants(in) == nil {
		return true
	}
	if _, ok := in["const"]; ok {
		s.note(at, "const", Same, "the constant is written as an enumeration")
	}
	values := fitting(in)
	if len(values) == 0 {
		return s.fail(at, "enum", "no value fits it")
	}
	s.enum += len(values)
	length := 0
	var kinds []any
	for _, v := range values {
		length += len(text(v))
		kind := typeOf(v)
		if kind == "array" || kind == "object" {
			return s.fail(at, "enum", "it has values that are no scalars")
		}
		kinds = union(kinds, []any{kind})
	}
	s.text += length
	if s.enum > maxStrictEnum || s.text > maxStrictText || len(values) > maxStrictLong && length > maxStrictLongText {
		return s.fail(at, "enum", "there are too many enumerated values")
	}
	out["enum"] = values
	if len(types(in)) == 0 {
		out["type"] = oneOrAll(kinds)
		s.note(at, "type", Same, "the type of the values is spelled out")
	}
	return true
}

func oneOrAll(all []any) any {
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// kind writes the type and what belongs to it.
func (s *strict) kind(in, out map[string]any, at string, depth int) bool {
	all := types(in)
	switch {
	case len(all) > 0:
	case in["properties"] != nil:
		all = []string{"object"}
	case in["items"] != nil:
		all = []string{"array"}
	case out["enum"] != nil:
		return true
	default:
		return s.fail(at, "type", "any value is allowed")
	}
	out["type"] = oneOrAll(anys(all))
	if slices.Contains(all, "array") {
		items := s.schema(object(in["items"]), tree.Join(at, "items"), depth+1)
		if items == nil {
			return false
		}
		out["items"] = items
	}
	return !slices.Contains(all, "object") || s.object(in, out, at, depth)
}

// listed reports whether the names of an object's properties can be listed.
func (s *strict) listed(in map[string]any, at string) bool {
	rest, limited := in["additionalProperties"]
	all := types(in)
	switch {
	case in["$ref"] != nil, !slices.Contains(all, "object") && (len(all) > 0 || in["properties"] == nil):
	case len(object(rest)) > 0:
		return s.fail(at, "additionalProperties", "properties of any name are allowed")
	case len(object(in["properties"])) == 0 && rest != false && (at != "" || limited):
		return s.fail(at, "properties", "any object is allowed")
	}
	return true
}

func (s *strict) object(in, out map[string]any, at string, depth int) bool {
	properties := object(in["properties"])
	switch rest, limited := in["additionalProperties"]; {
	case limited && rest != false:
		s.note(at, "additionalProperties", Narrower, "other properties are not offered")
	case !limited: // as all take it for granted
		s.silent = true
	}
	if s.properties += len(properties); s.properties > maxStrictProperties {
		return s.fail(at, "properties", "there are too many properties")
	}
	required := setOf(list(in["required"])...)
	written := make(map[string]any, len(properties))
	for _, name := range keys(properties) {
		path := tree.Join(at, "properties", name)
		if never(properties[name]) && !required.has(name) {
			continue
		}
		p := s.schema(object(properties[name]), path, depth+1)
		if p == nil {
			return false
		}
		if !required.has(name) {
			p = s.optional(p)
			s.note(path, "required", Same, "null stands for not given")
		}
		written[name] = p
		s.text += utf8.RuneCountInString(name)
	}
	for _, name := range names(in["required"]) {
		if _, ok := written[name]; !ok {
			return s.fail(at, "required", "it names a property that is not described")
		}
	}
	if s.text > maxStrictText || s.enum > maxStrictEnum {
		return s.fail(at, "properties", "there are too many names and values")
	}
	out["properties"], out["required"], out["additionalProperties"] = written, anys(keys(written)), false
	return true
}

// optional lets a property be null.
func (s *strict) optional(p map[string]any) map[string]any {
	out := maps.Clone(p)
	null := map[string]any{"type": "null"}
	if out["$ref"] != nil {
		return map[string]any{"anyOf": []any{out, null}}
	}
	if branches := list(out["anyOf"]); branches != nil {
		if !slices.ContainsFunc(branches, func(b any) bool { return slices.Contains(types(object(b)), "null") }) {
			out["anyOf"] = append(slices.Clone(branches), null)
		}
		return out
	}
	if all := types(out); !slices.Contains(all, "null") {
		out["type"] = append(anys(all), "null")
	}
	if values := list(out["enum"]); values != nil && !slices.Contains(values, nil) {
		out["enum"] = append(slices.Clone(values), nil)
		s.enum++
	}
	return out
}

// union writes alternatives as anyOf.
func (s *strict) union(branches []any, out map[string]any, key, at string, depth int) bool {
	lacks := make([][]string, len(branches))
	if key == "oneOf" {
		lacks = s.oneOf(branches, at)
	}
	var all []any
	for i, b := range branches {
		branch := object(b)
		if len(lacks[i]) > 0 {
			branch, _ = merge(branch, lacking(lacks[i]))
		}
		written := s.schema(branch, tree.Join(at, key, strconv.Itoa(i)), depth)
		if written == nil {
			return false
		}
		all = append(all, written)
	}
	if len(all) == 0 {
		return s.fail(at, key, "no value fits it")
	}
	out["anyOf"] = all
	return true
}

// oneOf lists the properties that each alternative must not have, so that a value fits
// one of them only.
func (s *strict) oneOf(branches []any, at string) [][]string {
	none := make([][]string, len(branches))
	resolved := make([]map[string]any, len(branches))
	for i, b := range branches {
		resolved[i] = s.doc.Plain(b)
	}
	lacks, effect, ok := exclusive(s.doc, resolved)
	changed := slices.ContainsFunc(lacks, func(names []string) bool { return len(names) > 0 })
	referred := slices.ContainsFunc(branches, func(b any) bool { return object(b)["$ref"] != nil })
	switch {
	case !ok, changed && referred: // a target cannot be written in two ways
		s.note(at, "oneOf", Wider, "written as anyOf")
		return none
	case !changed:
		s.note(at, "oneOf", Same, "written as anyOf")
	default:
		s.note(at, "oneOf", effect, "written as anyOf of what fits one alternative only")
	}
	return lacks
}
