package rewrite

import (
	"maps"
	"slices"
)

// enumerable reports whether the names of an object's properties can be listed.
func (s *strictness) enumerable(in map[string]any, at string) bool {
	rest, limited := in["additionalProperties"]
	all := types(in)
	switch {
	case !slices.Contains(all, "object") && (len(all) > 0 || in["properties"] == nil):
	case len(object(rest)) > 0:
		return s.fail(at, "additionalProperties", "properties of any name are allowed")
	case len(object(in["properties"])) == 0 && rest != false && (at != "" || limited):
		return s.fail(at, "properties", "any object is allowed")
	}
	return true
}

func (s *strictness) object(in, out map[string]any, at string, depth int) bool {
	properties := object(in["properties"])
	rest, limited := in["additionalProperties"]
	switch closed := rest == false; {
	case limited && !closed:
		s.note(at, "additionalProperties", Narrower, "other properties are not offered")
	case !closed: // as all take it for granted
		s.silent = true
	}
	if s.properties += len(properties); s.properties > maxStrictProperties {
		return s.fail(at, "properties", "there are too many properties")
	}
	required := names(in["required"])
	demanded := setOf(anys(required))
	written := make(map[string]any, len(properties))
	for _, name := range keys(properties) {
		path := join(at, "properties", name)
		p, ok := s.schema(object(properties[name]), path, depth+1)
		if !ok {
			return false
		}
		if !demanded.has(name) {
			values := len(list(p["enum"]))
			p = optional(p)
			if s.enum += len(list(p["enum"])) - values; s.enum > maxStrictEnum {
				return s.fail(path, "enum", "there are too many enumerated values")
			}
			s.note(path, "required", Same, "null stands for not given")
		}
		written[name] = p
		s.text += len(name)
	}
	for _, name := range required {
		if _, ok := properties[name]; !ok {
			return s.fail(at, "required", "it names a property that is not described")
		}
	}
	if s.text > maxStrictText {
		return s.fail(at, "properties", "the names are too long")
	}
	out["properties"], out["required"], out["additionalProperties"] = written, anys(keys(written)), false
	return true
}

// optional lets a property be null.
func optional(p map[string]any) map[string]any {
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
		out["type"] = anys(append(slices.Clone(all), "null"))
	}
	if values := list(out["enum"]); values != nil && !slices.Contains(values, nil) {
		out["enum"] = append(slices.Clone(values), nil)
	}
	return out
}
