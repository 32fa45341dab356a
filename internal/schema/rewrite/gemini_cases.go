package rewrite

import (
	"maps"
	"slices"
)

// maxConditions bounds the conditions of one object that are written as
// alternatives: each doubles them.
const maxConditions = 3

// cases writes the first condition that an object has as alternatives. It
// returns false when there is none, or none that they can say.
func (g *geminiWriter) cases(s map[string]any) (rest map[string]any, branches []any, ok bool) {
	if g.target == GoogleAI || !slices.Equal(types(s), []string{"object"}) || conditions(s) > maxConditions {
		return nil, nil, false
	}
	rest = maps.Clone(s)
	if not, ok := s["not"]; ok {
		delete(rest, "not")
		if branches, ok := g.negation(not, rest); ok {
			return rest, branches, true
		}
		rest["not"] = not
	}
	if condition, ok := s["if"]; ok {
		maps.DeleteFunc(rest, func(key string, _ any) bool { return conditional(key) })
		if branches, ok := g.negation(condition, rest); ok {
			for i, b := range branches {
				branches[i] = allOf(b, orTrue(s, "else"))
			}
			return rest, append([]any{allOf(condition, orTrue(s, "then"))}, branches...), true
		}
		copyKeys(rest, s, "if", "then", "else")
	}
	for _, key := range []string{"dependentRequired", "dependentSchemas"} {
		all := object(s[key])
		if len(all) == 0 {
			continue
		}
		name := keys(all)[0]
		others := maps.Clone(all)
		delete(others, name)
		if rest[key] = others; len(others) == 0 {
			delete(rest, key)
		}
		says := all[name]
		if required, ok := says.([]any); ok {
			says = map[string]any{"required": required}
		}
		return rest, []any{without(name), allOf(map[string]any{"required": []any{name}}, says)}, true
	}
	return nil, nil, false
}

// conditions counts the conditions of an object.
func conditions(s map[string]any) int {
	n := len(object(s["dependentRequired"])) + len(object(s["dependentSchemas"]))
	for _, key := range []string{"not", "if"} {
		if _, ok := s[key]; ok {
			n++
		}
	}
	return n
}

// without is an object that lacks properties.
func without(names ...string) map[string]any {
	lacking := make(map[string]any, len(names))
	for _, name := range names {
		lacking[name] = false
	}
	return map[string]any{"properties": lacking}
}

func orTrue(s map[string]any, key string) any {
	if v, ok := s[key]; ok {
		return v
	}
	return true
}

// negation lists the alternatives of an object, which base speaks of, that does
// not fit s. It returns false when they cannot be listed.
func (g *geminiWriter) negation(v any, base map[string]any) (branches []any, ok bool) {
	s := g.doc.plain(v)
	switch {
	case v == false || never(v):
		return []any{true}, true
	case s == nil && v != true:
		return nil, false
	}
	for _, key := range keys(s) {
		switch key {
		case "required":
			for _, name := range names(s[key]) {
				branches = append(branches, without(name))
			}
		case "properties":
			for _, name := range keys(object(s[key])) {
				others, ok := g.otherValues(g.doc.plain(object(s[key])[name]), g.doc.plain(object(base["properties"])[name]))
				if !ok {
					return nil, false
				}
				if len(others) > 0 {
					branches = append(branches, map[string]any{
						"required": []any{name}, "properties": map[string]any{name: map[string]any{"enum": others}},
					})
				}
			}
		case "type":
			if !slices.Contains(types(s), "object") {
				return []any{true}, true
			}
		default:
			if !slices.Contains(remarks, key) {
				return nil, false
			}
		}
	}
	return branches, true
}

// otherValues lists the values of a property, which base speaks of, that do not
// fit s.
func (g *geminiWriter) otherValues(s, base map[string]any) (values []any, ok bool) {
	fit := constants(s)
	for _, key := range keys(s) {
		if key != "const" && key != "enum" && key != "type" && !slices.Contains(remarks, key) {
			return nil, false
		}
	}
	all := g.valuesOf(base, maxApart)
	if fit == nil {
		return nil, len(types(s)) == 0
	}
	if all == nil || !g.spend(weight(all)+weight(fit)) {
		return nil, false
	}
	there := setOf(fit)
	return slices.DeleteFunc(slices.Clone(all), there.has), true
}

// valuesOf lists the values that a subschema and its parts enumerate, nil when
// they do not.
func (g *geminiWriter) valuesOf(s map[string]any, depth int) []any {
	all := constants(s)
	if all == nil && slices.Equal(types(s), []string{"boolean"}) {
		all = []any{true, false}
	}
	for _, part := range list(s["allOf"]) {
		if depth == 0 || !g.doc.Spend(8) {
			break
		}
		values := g.valuesOf(g.doc.plain(part), depth-1)
		switch {
		case all == nil:
			all = values
		case values != nil && g.doc.Spend(weight(all)+weight(values)):
			all = append([]any{}, intersection(all, values)...)
		}
	}
	return all
}
