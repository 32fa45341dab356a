package rewrite

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// values writes enum and const.
func (s *strict) values(in, out map[string]any, at string) bool {
	if tree.Constants(in) == nil {
		return true
	}
	if _, ok := in["const"]; ok {
		s.record(at, "const", profile.Same, "the constant is written as an enumeration")
	}
	values := satisfyingValues(in)
	if len(values) == 0 {
		return s.fail(at, "enum", "no value is allowed")
	}
	s.enum += len(values)
	length := 0
	var kinds []any
	for _, v := range values {
		length += len(tree.Text(v))
		kind := tree.TypeOf(v)
		if kind == "array" || kind == "object" {
			return s.fail(at, "enum", "the values are not all scalars")
		}
		kinds = union(kinds, []any{kind})
	}
	s.text += length
	if s.enum > maxStrictEnum || s.text > maxStrictText || len(values) > maxStrictLong && length > maxStrictLongText {
		return s.fail(at, "enum", "there are too many enumerated values")
	}
	out["enum"] = values
	if len(tree.Types(in)) == 0 {
		out["type"] = oneOrAll(kinds)
		s.record(at, "type", profile.Same, "the type of the values is added")
	}
	return true
}

func oneOrAll(all []any) any {
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// kind writes the type, and the items or properties of that type. Without a type, keywords imply it.
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

// hasNamedProperties reports whether all properties of an object are known by name.
func (s *strict) hasNamedProperties(in map[string]any, at string) bool {
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

// object writes the properties of an object: all are required, and others are not allowed.
func (s *strict) object(in, out map[string]any, at string, depth int) bool {
	properties := tree.Object(in["properties"])
	switch rest, limited := in["additionalProperties"]; {
	case limited && rest != false:
		s.record(at, "additionalProperties", profile.Narrower, "other properties are not offered")
	case !limited: // not reported: strict output always closes objects
		s.silent = true
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
			s.record(path, "required", profile.Same, "null stands for a missing property")
		}
		written[name] = p
		s.text += utf8.RuneCountInString(name)
	}
	for _, name := range tree.Strings(in["required"]) {
		if _, ok := written[name]; !ok {
			return s.fail(at, "required", "a required property is not described")
		}
	}
	if s.text > maxStrictText || s.enum > maxStrictEnum {
		return s.fail(at, "properties", "there are too many names and values")
	}
	out["properties"], out["required"], out["additionalProperties"] = written, tree.Anys(tree.Keys(written)), false
	return true
}

// optional allows null for a property, which stands for a missing one.
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
