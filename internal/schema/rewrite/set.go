package rewrite

import "encoding/json"

// set is a set of JSON values.
type set map[any]struct{}

// composite is the text of a list or an object, as a key beside that of strings.
type composite string

func identity(v any) any {
	switch v.(type) {
	case nil, bool, string, json.Number:
		return v
	}
	return composite(show(v))
}

func setOf(all []any) set {
	out := make(set, len(all))
	for _, v := range all {
		out.add(v)
	}
	return out
}

// add reports whether v was not in the set yet.
func (s set) add(v any) bool {
	key := identity(v)
	if _, ok := s[key]; ok {
		return false
	}
	s[key] = struct{}{}
	return true
}

func (s set) has(v any) bool {
	_, ok := s[identity(v)]
	return ok
}

// union lists the values of both lists, each once.
func union(a, b []any) []any {
	seen := make(set, len(a)+len(b))
	out := make([]any, 0, len(a)+len(b))
	for _, all := range [][]any{a, b} {
		for _, v := range all {
			if seen.add(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// intersection lists the values of a that are in b.
func intersection(a, b []any) []any {
	var out []any
	there := setOf(b)
	for _, v := range a {
		if there.has(v) {
			out = append(out, v)
		}
	}
	return out
}

// weight is what a list of values costs to be looked through, in steps.
func weight(all []any) int {
	steps := len(all)
	for _, v := range all {
		switch v := v.(type) {
		case string:
			steps += len(v) / 64
		case []any:
			steps += weight(v)
		case map[string]any:
			for _, member := range v {
				steps += weight([]any{member})
			}
		}
	}
	return steps
}
