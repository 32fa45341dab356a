package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The bounds of OpenAI's structured outputs.
const (
	maxStrictProperties = 5000
	maxStrictDepth      = 10
	maxStrictEnum       = 1000
	maxStrictText       = 120_000 // bytes of enumerated values and names of definitions, and characters of properties' names
	maxStrictLong       = 250     // values of one enumeration; more are allowed up to maxStrictLongText
	maxStrictLongText   = 15_000  // bytes of the values of one enumeration
)

// strict writes subschemas in the strict subset. If that is impossible, its methods record why and return nil or false.
type strict struct {
	*report
	doc *tree.Document

	properties, enum, text int // what was written, in the units of maxStrictProperties, maxStrictEnum and maxStrictText
}

// writeStrict writes a schema in the strict subset. If it returns false, the last change is the reason.
func writeStrict(root map[string]any, r *report) (map[string]any, bool) {
	d := modernize(followRoot(root, r), modernOptions{addItems: true}, r)
	s := &strict{report: r, doc: d.Document}
	objectRoot(d.Root, tree.RefersToRoot(root), r)
	out := s.schema(d.Root, "", 0)
	if out != nil && tree.HasAny(out, []string{"anyOf", "enum", "$ref"}) {
		return nil, s.fail("", "", "the root has alternatives")
	}
	return out, out != nil
}

// fail records why a schema cannot be strict, and returns false.
func (s *strict) fail(at, keyword, why string) bool {
	s.record(at, keyword, profile.Same, "not strict: "+why)
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
		in = tree.Without(in, assertions...)
	}
	out := map[string]any{}
	if !s.hasNamedProperties(in, at) || !s.keywords(in, out, at) {
		return nil
	}
	describeDropped(out, in, "default", "format", "uniqueItems", "minLength", "maxLength", "minProperties", "maxProperties")
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

// assertions are the keywords that the strict subset does not allow beside alternatives.
var assertions = strings.Fields("type properties required additionalProperties unevaluatedProperties items anyOf oneOf enum const " +
	"pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems uniqueItems " +
	"minLength maxLength minProperties maxProperties")

// alternatives lists the alternatives of anyOf, or else of oneOf. key is their keyword. A subschema without either has none.
// ok is false if it demands more: the strict subset has no keywords beside alternatives. A type that all of them repeat is
// no such demand.
func (s *strict) alternatives(in map[string]any, at string) (branches []any, key string, ok bool) {
	key = "anyOf"
	if in[key] == nil {
		key = "oneOf"
	}
	all := tree.List(in[key])
	if all == nil {
		return nil, "", true
	}
	beside := tree.Without(in, key)
	repeats := func(b any) bool { return slices.Equal(tree.Types(s.doc.Plain(b)), tree.Types(in)) }
	if tree.HasAny(beside, []string{"$ref"}) || tree.HasAny(tree.Without(beside, "type"), assertions) ||
		len(tree.Types(in)) > 0 && slices.ContainsFunc(all, func(b any) bool { return !repeats(b) }) {
		return nil, key, s.fail(at, key, "the alternatives have other keywords beside them")
	}
	return all, key, true
}

// definitions writes the definitions, which the strict subset has only at the root.
func (s *strict) definitions(in, out map[string]any, at string) bool {
	for _, key := range []string{"definitions", "$defs"} {
		defs := tree.Object(in[key])
		if len(defs) == 0 {
			continue
		}
		if at != "" {
			return s.fail(at, key, "definitions are not at the root")
		}
		all := map[string]any{}
		maps.Copy(all, tree.Object(out["$defs"]))
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

// reference writes a $ref to the root or to a definition. The strict subset allows no keyword beside it, so beside a
// description the reference moves into anyOf.
func (s *strict) reference(ref string, in, out map[string]any, at string) bool {
	if ref != "#" {
		place, ok := tree.Fragment(ref)
		segments := strings.Split(place, "/")
		if !ok || len(segments) != 3 || segments[0] != "" || segments[1] != "$defs" && segments[1] != "definitions" {
			return s.fail(at, "$ref", "the reference does not lead to a definition")
		}
		_, name, _ := strings.Cut(ref[2:], "/")
		if plain := "#/$defs/" + name; ref != plain {
			s.record(at, "$ref", profile.Same, "definitions are called $defs")
			ref = plain
		}
	}
	for _, key := range append(tree.Keys(out), tree.Keys(in)...) {
		if slices.Contains(assertions, key) || key != "description" && out[key] != nil {
			return s.fail(at, "$ref", "the reference has "+key+" beside it")
		}
	}
	if len(out) == 0 {
		out["$ref"] = ref
		return true
	}
	out["anyOf"] = []any{map[string]any{"$ref": ref}}
	s.record(at, "$ref", profile.Same, "the reference is moved into anyOf, beside its description")
	return true
}

// union writes the alternatives of a keyword as anyOf.
func (s *strict) union(branches []any, out map[string]any, key, at string, depth int) bool {
	if key == "oneOf" {
		resolved := make([]map[string]any, len(branches))
		for i, b := range branches {
			resolved[i] = s.doc.Plain(b)
		}
		s.record(at, key, oneOfEffect(s.doc, resolved), "written as anyOf")
	}
	var all []any
	for i, b := range branches {
		written := s.schema(tree.Object(b), tree.Join(at, key, strconv.Itoa(i)), depth)
		if written == nil {
			return false
		}
		all = append(all, written)
	}
	if len(all) == 0 {
		return s.fail(at, key, "no value is allowed")
	}
	out["anyOf"] = all
	return true
}
