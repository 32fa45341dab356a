package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/schema/change"
	"github.com/mcpchain/mcpchain/internal/schema/merge"
	"github.com/mcpchain/mcpchain/internal/schema/modern"
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
	*change.Report
	doc                    *tree.Document
	budget                 *budget
	properties, enum, text int
}

// writeStrict writes a schema. If it returns false, the last change says why.
func writeStrict(root map[string]any, r *change.Report, room *Room) (map[string]any, bool) {
	d := modern.Write(followRoot(root, r), modern.Options{Items: true}, r)
	s := &strict{Report: r, doc: d.Document, budget: room.budget()}
	defer func() { room.written += room.budget().bytes - s.budget.bytes }()
	in := d.Root
	objectRoot(in, tree.RefersToRoot(root), r)
	out := s.schema(in, "", 0)
	if out == nil {
		return nil, false
	}
	if name := Wrapper(root); out["anyOf"] != nil || out["enum"] != nil || out["$ref"] != nil {
		if name == "" || tree.RefersToRoot(d.Root) {
			return nil, s.fail("", "", "the root has alternatives")
		}
		defs, there := out["$defs"]
		delete(out, "$defs")
		out = wrapped(name, out)
		out["additionalProperties"] = false
		if there {
			out["$defs"] = defs
		}
		r.Changes = slices.Insert(r.Changes, 0, change.Change{Effect: change.Same, Note: wrapNote(name)})
	}
	return out, true
}

// fail records why a schema cannot be strict.
func (s *strict) fail(at, keyword, why string) bool {
	s.Note(at, keyword, change.Same, "not strict: "+why)
	return false
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
		in = tree.Without(in, demands...)
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
	all := tree.List(in[key])
	if all == nil {
		return nil, "", true
	}
	base := map[string]any{}
	tree.CopyKeys(base, in, demands...)
	delete(base, key)
	if len(base) == 0 && in["$ref"] == nil {
		return all, key, true
	}
	for _, b := range all {
		if kind := tree.Types(s.doc.Plain(b)); tree.Object(b)["$ref"] != nil && tree.Only(base, "type") && len(kind) > 0 && slices.Equal(kind, tree.Types(base)) {
			branches = append(branches, b)
			continue
		}
		if !s.budget.work(merge.Breadth(base)+merge.Breadth(tree.Object(b))) || !s.budget.write(sizeOf(base)) {
			return nil, key, s.fail(at, key, "what stands beside the alternatives is too large to be written in each")
		}
		merged, lost := merge.Merge(tree.Object(b), base)
		if len(lost) > 0 || in["$ref"] != nil {
			return nil, key, s.fail(at, key, "the alternatives have other keywords beside them")
		}
		branches = append(branches, merged)
	}
	s.Note(at, key, change.Same, "what stands beside the alternatives is written in each")
	return branches, key, true
}

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
			s.Note(at, key, change.Same, "the format is told in the description")
		case treatment == forget, strings.HasPrefix(key, "x-"):
			s.Silent = true
		case treatment == drop:
			s.Note(at, key, change.Same, "the annotation was removed")
		case key == "default":
			s.Note(at, key, change.Same, "the default is told in the description")
		case treatment == told:
			s.Note(at, key, looseness(in, key), "told in the description")
		case !known:
			return s.fail(at, key, "the keyword is not known there")
		}
	}
	return s.lengths(in, out, at)
}

// looseness is the effect of leaving a keyword out.
func looseness(in map[string]any, key string) change.Effect {
	n, _ := limitOf(in[key])
	least, _ := limitOf(in["minItems"])
	switch {
	case key == "uniqueItems" && least <= 1, // repeated items are taken out before validation
		key == "minProperties" && n <= len(tree.Strings(in["required"])),
		key == "maxProperties" && n >= len(tree.Object(in["properties"])):
		return change.Same
	}
	return change.Wider
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
		s.Note(at, "minLength", change.Same, "left out, because it says nothing more")
		return true
	}
	_, patterned := out["pattern"]
	if least == 1 && out["format"] != nil { // no such format fits the empty text
		s.Note(at, "minLength", change.Same, "the format says it")
		least, hasLeast = 0, false
	}
	for key, limit := range map[string]int{"minLength": least, "maxLength": most} {
		switch {
		case limit == 0 && (key == "minLength" || !hasMost):
		case patterned:
			s.Note(at, key, change.Wider, "told in the description, because there is a pattern")
		case limit > maxPatternLength:
			s.Note(at, key, change.Wider, "told in the description, because it is over "+strconv.Itoa(maxPatternLength))
		}
	}
	hasLeast, hasMost = hasLeast && least > 0 && least <= maxPatternLength, hasMost && most <= maxPatternLength
	if patterned || !hasLeast && !hasMost {
		return true
	}
	if out["format"] != nil {
		delete(out, "format")
		s.Note(at, "format", change.Same, "the format is told in the description, because a pattern says the length")
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
	s.Note(at, key, change.Same, "written as a pattern")
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

func (s *strict) definitions(in, out map[string]any, at string) bool {
	for _, key := range []string{"definitions", "$defs"} {
		defs := tree.Object(in[key])
		if len(defs) == 0 {
			continue
		}
		if at != "" {
			return s.fail(at, key, "definitions are not at the root")
		}
		all := maps.Clone(tree.Object(out["$defs"]))
		if all == nil {
			all = map[string]any{}
		}
		for _, name := range tree.Keys(defs) {
			def := s.schema(tree.Object(defs[name]), tree.Join(at, key, name), 1)
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
			s.Note(at, "$ref", change.Same, "definitions are called $defs")
			ref = plain
		}
	}
	for _, key := range append(tree.Keys(out), tree.Keys(in)...) {
		if slices.Contains(demands, key) || key != "description" && out[key] != nil {
			return s.fail(at, "$ref", "the reference has "+key+" beside it")
		}
	}
	if len(out) == 0 {
		out["$ref"] = ref
		return true
	}
	out["anyOf"] = []any{map[string]any{"$ref": ref}}
	s.Note(at, "$ref", change.Same, "the reference is set apart from its description")
	return true
}

// values writes enum and const.
func (s *strict) values(in, out map[string]any, at string) bool {
	if tree.Constants(in) == nil {
		return true
	}
	if _, ok := in["const"]; ok {
		s.Note(at, "const", change.Same, "the constant is written as an enumeration")
	}
	values := merge.Fitting(in)
	if len(values) == 0 {
		return s.fail(at, "enum", "no value fits it")
	}
	s.enum += len(values)
	length := 0
	var kinds []any
	for _, v := range values {
		length += len(tree.Text(v))
		kind := tree.TypeOf(v)
		if kind == "array" || kind == "object" {
			return s.fail(at, "enum", "it has values that are no scalars")
		}
		kinds = merge.Union(kinds, []any{kind})
	}
	s.text += length
	if s.enum > maxStrictEnum || s.text > maxStrictText || len(values) > maxStrictLong && length > maxStrictLongText {
		return s.fail(at, "enum", "there are too many enumerated values")
	}
	out["enum"] = values
	if len(tree.Types(in)) == 0 {
		out["type"] = oneOrAll(kinds)
		s.Note(at, "type", change.Same, "the type of the values is spelled out")
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
	all := tree.Types(in)
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
	out["type"] = oneOrAll(tree.Anys(all))
	if slices.Contains(all, "array") {
		items := s.schema(tree.Object(in["items"]), tree.Join(at, "items"), depth+1)
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
	all := tree.Types(in)
	switch {
	case in["$ref"] != nil, !slices.Contains(all, "object") && (len(all) > 0 || in["properties"] == nil):
	case len(tree.Object(rest)) > 0:
		return s.fail(at, "additionalProperties", "properties of any name are allowed")
	case len(tree.Object(in["properties"])) == 0 && rest != false && (at != "" || limited):
		return s.fail(at, "properties", "any object is allowed")
	}
	return true
}

func (s *strict) object(in, out map[string]any, at string, depth int) bool {
	properties := tree.Object(in["properties"])
	switch rest, limited := in["additionalProperties"]; {
	case limited && rest != false:
		s.Note(at, "additionalProperties", change.Narrower, "other properties are not offered")
	case !limited: // as all take it for granted
		s.Silent = true
	}
	if s.properties += len(properties); s.properties > maxStrictProperties {
		return s.fail(at, "properties", "there are too many properties")
	}
	required := tree.SetOf(tree.List(in["required"])...)
	written := make(map[string]any, len(properties))
	for _, name := range tree.Keys(properties) {
		path := tree.Join(at, "properties", name)
		if tree.Never(properties[name]) && !required.Has(name) {
			continue
		}
		p := s.schema(tree.Object(properties[name]), path, depth+1)
		if p == nil {
			return false
		}
		if !required.Has(name) {
			p = s.optional(p)
			s.Note(path, "required", change.Same, "null stands for not given")
		}
		written[name] = p
		s.text += utf8.RuneCountInString(name)
	}
	for _, name := range tree.Strings(in["required"]) {
		if _, ok := written[name]; !ok {
			return s.fail(at, "required", "it names a property that is not described")
		}
	}
	if s.text > maxStrictText || s.enum > maxStrictEnum {
		return s.fail(at, "properties", "there are too many names and values")
	}
	out["properties"], out["required"], out["additionalProperties"] = written, tree.Anys(tree.Keys(written)), false
	return true
}

// optional lets a property be null.
func (s *strict) optional(p map[string]any) map[string]any {
	out := maps.Clone(p)
	null := map[string]any{"type": "null"}
	if out["$ref"] != nil {
		return map[string]any{"anyOf": []any{out, null}}
	}
	if branches := tree.List(out["anyOf"]); branches != nil {
		if !slices.ContainsFunc(branches, func(b any) bool { return slices.Contains(tree.Types(tree.Object(b)), "null") }) {
			out["anyOf"] = append(slices.Clone(branches), null)
		}
		return out
	}
	if all := tree.Types(out); !slices.Contains(all, "null") {
		out["type"] = append(tree.Anys(all), "null")
	}
	if values := tree.List(out["enum"]); values != nil && !slices.Contains(values, nil) {
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
		branch := tree.Object(b)
		if len(lacks[i]) > 0 {
			branch, _ = merge.Merge(branch, merge.Lacking(lacks[i]))
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
	lacks, effect, ok := merge.Exclusive(s.doc, resolved)
	changed := slices.ContainsFunc(lacks, func(names []string) bool { return len(names) > 0 })
	referred := slices.ContainsFunc(branches, func(b any) bool { return tree.Object(b)["$ref"] != nil })
	switch {
	case !ok, changed && referred: // a target cannot be written in two ways
		s.Note(at, "oneOf", change.Wider, "written as anyOf")
		return none
	case !changed:
		s.Note(at, "oneOf", change.Same, "written as anyOf")
	default:
		s.Note(at, "oneOf", effect, "written as anyOf of what fits one alternative only")
	}
	return lacks
}
