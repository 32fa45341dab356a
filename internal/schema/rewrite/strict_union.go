package rewrite

import (
	"maps"
	"slices"
	"strconv"
)

// distributed puts into alternatives what stands beside them, which the strict
// subset has no room for.
func (s *strictness) distributed(in map[string]any, at string) (map[string]any, bool) {
	key := "anyOf"
	if in[key] == nil {
		key = "oneOf"
	}
	branches := list(in[key])
	out, base := maps.Clone(in), map[string]any{}
	for _, beside := range strictDemands {
		if beside != key {
			copyKeys(base, in, beside)
			delete(out, beside)
		}
	}
	if branches == nil || len(base) == 0 || in["$ref"] != nil {
		return in, true
	}
	all := make([]any, len(branches))
	for i, b := range branches {
		if !s.writes.spend(breadth(base)+breadth(object(b))) || !s.bytes.spend(sizeOf(base)) {
			return nil, s.fail(at, key, "what stands beside the alternatives is too large to be written in each")
		}
		if kind := types(s.doc.plain(b)); object(b)["$ref"] != nil && len(base) == 1 && len(kind) > 0 && slices.Equal(kind, types(base)) {
			all[i] = b
			continue
		}
		merged, lost := beside(object(b), base)
		if len(lost) > 0 {
			return nil, s.fail(at, key, "the alternatives have other keywords beside them")
		}
		if says, ok := merged["unevaluatedProperties"]; ok && merged["anyOf"] == nil && merged["oneOf"] == nil {
			merged["additionalProperties"] = says
			delete(merged, "unevaluatedProperties")
		}
		all[i] = merged
	}
	out[key] = all
	s.note(at, key, Same, "what stands beside the alternatives is written in each")
	return out, true
}

func (s *strictness) union(in, out map[string]any, at string, depth int) bool {
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := list(in[key])
		if branches == nil {
			continue
		}
		if out["enum"] != nil {
			return s.fail(at, key, "the alternatives have other keywords beside them")
		}
		splits := make([]split, len(branches))
		if key == "oneOf" {
			splits = s.oneOf(branches, at)
		}
		var all []any
		for i, b := range branches {
			if splits[i].drop {
				continue
			}
			branch, ok := s.schema(lacking(object(b), splits[i].without), join(at, key, strconv.Itoa(i)), depth)
			if !ok {
				return false
			}
			all = append(all, branch)
		}
		if len(all) == 0 {
			return s.fail(at, key, "no value fits it")
		}
		out["anyOf"] = all
	}
	return true
}

// oneOf notes that oneOf is written as anyOf, and says how so that a value fits
// one alternative only.
func (s *strictness) oneOf(branches []any, at string) []split {
	none := make([]split, len(branches))
	if s.disjoint(branches) {
		s.note(at, "oneOf", Same, "written as anyOf")
		return none
	}
	objects := make([]map[string]any, len(branches))
	for i, b := range branches {
		objects[i] = s.doc.plain(b)
		if objects[i]["$defs"] != nil || object(b)["$ref"] != nil {
			s.note(at, "oneOf", Wider, "written as anyOf")
			return none // what is referred to cannot be written in two ways
		}
	}
	splits, effect, ok := s.separate(objects)
	if !ok {
		s.note(at, "oneOf", Wider, "written as anyOf")
		return none
	}
	s.note(at, "oneOf", effect, "written as anyOf of what fits one alternative only")
	return splits
}

// lacking is an object without properties that it does not require.
func lacking(s map[string]any, without []string) map[string]any {
	if len(without) == 0 {
		return s
	}
	s = maps.Clone(s)
	properties := maps.Clone(object(s["properties"]))
	for _, name := range without {
		delete(properties, name)
	}
	s["properties"] = properties
	return s
}
