package rewrite

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// names lists the strings of a list.
func names(v any) []string {
	var out []string
	for _, item := range list(v) {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func anys(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// types lists what the type keyword names.
func types(s map[string]any) []string {
	if name, ok := s["type"].(string); ok {
		return []string{name}
	}
	return names(s["type"])
}

func isObject(s map[string]any) bool { return slices.Equal(types(s), []string{"object"}) }

// typeOf names the type of a value. A number is an integer by its value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if n, ok := rational(v); ok && n.IsInt() {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// show writes a value as JSON.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// constants lists the values that a subschema enumerates, nil if it does not.
func constants(s map[string]any) []any {
	if v, ok := s["const"]; ok {
		return []any{v}
	}
	return list(s["enum"])
}

// says reports whether a subschema has one of some keywords.
func says(s map[string]any, keywords []string) bool {
	return slices.ContainsFunc(keywords, func(key string) bool { _, ok := s[key]; return ok })
}

// only reports whether a subschema has no keywords but some, and such as demand nothing.
func only(s map[string]any, keywords ...string) bool {
	for key := range s {
		if !slices.Contains(keywords, key) && !slices.Contains(tree.Remarks, key) {
			return false
		}
	}
	return true
}

// without copies a schema without some keywords.
func without(s map[string]any, keywords ...string) map[string]any {
	out := maps.Clone(s)
	for _, key := range keywords {
		delete(out, key)
	}
	return out
}

func copyKeys(out, in map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
}

// nothing is a subschema that no value fits.
var nothing = map[string]any{"not": map[string]any{}}

// never reports whether a subschema is one that no value fits, on its face.
func never(v any) bool {
	if v == false {
		return true
	}
	not, ok := object(v)["not"]
	m, isSchema := not.(map[string]any)
	return ok && (not == true || isSchema && len(m) == 0)
}

// rest is the subschema of the properties that an object does not describe, and the
// keyword that has it.
func rest(s map[string]any) (v any, keyword string) {
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if v, ok := s[key]; ok {
			return v, key
		}
	}
	return nil, ""
}

// set is a set of JSON values.
type set map[any]bool

func setOf(all ...any) set {
	out := make(set, len(all))
	for _, v := range all {
		out[tree.Identity(v)] = true
	}
	return out
}

func (s set) has(v any) bool { return s[tree.Identity(v)] }

// add reports whether v was not in the set yet.
func (s set) add(v any) bool {
	there := s.has(v)
	s[tree.Identity(v)] = true
	return !there
}

func rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// quote writes a name for a note.
func quote(name string) string {
	if len(name) > tree.MaxPath {
		name = name[:tree.MaxPath] + "…"
	}
	return strconv.Quote(name)
}
