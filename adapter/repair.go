package adapter

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema"
)

// maxRepairs bounds the subschemas that one repair looks at.
const maxRepairs = 10_000

// maxHops bounds the references from one subschema to the next.
const maxHops = 16

// repair changes a value to what its schema says was meant. It guesses nothing:
// every change keeps the information, and what it returns is validated anyway.
// Values are never changed in place.
type repair struct {
	root any
	left int
}

func newRepair(root any) *repair { return &repair{root: root, left: maxRepairs} }

// value repairs v by the subschema s.
func (r *repair) value(s, v any) any {
	if r.left--; r.left < 0 {
		return v
	}
	sub := r.resolve(s)
	if sub == nil {
		return v
	}
	for _, part := range list(sub["allOf"]) {
		v = r.value(part, v)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := list(sub[keyword]); len(branches) > 0 {
			v = r.branch(branches, v)
		}
	}
	if types := typesOf(sub); len(types) > 0 && !fitsAny(types, v) {
		v = r.convert(types, v)
	}
	switch v := v.(type) {
	case map[string]any:
		return r.object(sub, v)
	case []any:
		return r.array(sub, v)
	case string:
		return enumerated(list(sub["enum"]), v)
	}
	return v
}

// enumerated is the value among values that text spells, when text is not among
// them itself.
func enumerated(values []any, text string) any {
	if len(values) == 0 || slices.ContainsFunc(values, func(v any) bool { return v == any(text) }) {
		return text
	}
	for _, v := range values {
		switch v := v.(type) {
		case json.Number:
			if string(v) == text {
				return v
			}
		case bool:
			if strconv.FormatBool(v) == text {
				return v
			}
		}
	}
	return text
}

// resolve follows references inside the document. It returns nil for a subschema
// that says nothing that a repair could go by.
func (r *repair) resolve(s any) map[string]any {
	for range maxHops {
		sub, ok := s.(map[string]any)
		if !ok {
			return nil
		}
		ref, ok := sub["$ref"].(string)
		if !ok {
			return sub
		}
		pointer, ok := strings.CutPrefix(ref, "#")
		if !ok {
			return nil
		}
		s = r.at(pointer)
	}
	return nil
}

// at finds what a JSON pointer points to, nil when there is nothing.
func (r *repair) at(pointer string) any {
	v := r.root
	if pointer == "" {
		return v
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch node := v.(type) {
		case map[string]any:
			v = node[unescape.Replace(key)]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

// branch repairs v by the alternative that it was most likely meant for: the
// first one of its type whose constants it has, or else the first one that can
// take it after a change.
func (r *repair) branch(branches []any, v any) any {
	for _, b := range branches {
		if sub := r.resolve(b); sub != nil && fitsAny(typesOf(sub), v) && r.hasConstants(sub, v) {
			return r.value(sub, v)
		}
	}
	for _, b := range branches {
		sub := r.resolve(b)
		if types := typesOf(sub); len(types) > 0 {
			if w := r.convert(types, v); fitsAny(types, w) {
				return r.value(sub, w)
			}
		}
	}
	return v
}

// hasConstants reports whether v has the constant properties that sub demands,
// which is how alternatives that are objects are told apart.
func (r *repair) hasConstants(sub map[string]any, v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		return true
	}
	properties, _ := sub["properties"].(map[string]any)
	for name, property := range properties {
		want, ok := constant(r.resolve(property))
		if got, present := object[name]; ok && present && got != want {
			return false
		}
	}
	return true
}

// constant is the only value that a subschema allows, when that is a string.
func constant(sub map[string]any) (string, bool) {
	if text, ok := sub["const"].(string); ok {
		return text, true
	}
	if values := list(sub["enum"]); len(values) == 1 {
		text, ok := values[0].(string)
		return text, ok
	}
	return "", false
}

// object repairs the members of an object and drops null where an optional
// member cannot be null: models write it for "not given".
func (r *repair) object(sub, v map[string]any) map[string]any {
	properties, _ := sub["properties"].(map[string]any)
	required := stringList(sub["required"])
	out := make(map[string]any, len(v))
	for name, member := range v {
		property, ok := properties[name]
		if !ok {
			property = sub["additionalProperties"]
		}
		if member == nil && ok && !slices.Contains(required, name) && !r.acceptsNull(property) {
			continue
		}
		out[name] = r.value(property, member)
	}
	return out
}

func (r *repair) acceptsNull(s any) bool {
	sub := r.resolve(s)
	if sub == nil {
		return true
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := list(sub[keyword]); len(branches) > 0 {
			return slices.ContainsFunc(branches, func(b any) bool {
				return fitsAny(typesOf(r.resolve(b)), nil)
			})
		}
	}
	return fitsAny(typesOf(sub), nil)
}

func (r *repair) array(sub map[string]any, v []any) []any {
	prefix := list(sub["prefixItems"])
	items := sub["items"]
	if tuple, ok := items.([]any); ok { // up to 2019-09
		prefix, items = tuple, sub["additionalItems"]
	}
	out := make([]any, len(v))
	for i, item := range v {
		s := items
		if i < len(prefix) {
			s = prefix[i]
		}
		out[i] = r.value(s, item)
	}
	return out
}

// convert changes v to one of types, none of which it has. A string is taken
// for what it spells before anything is put into a list.
func (r *repair) convert(types []string, v any) any {
	switch v := v.(type) {
	case string:
		if w, ok := spelled(types, strings.TrimSpace(v)); ok {
			return w
		}
	case json.Number:
		if slices.Contains(types, "string") {
			return v.String()
		}
	case bool:
		if slices.Contains(types, "string") {
			return strconv.FormatBool(v)
		}
	case nil:
		return v
	}
	if slices.Contains(types, "array") {
		return []any{v}
	}
	return v
}

// spelled reads text as a value of one of types.
func spelled(types []string, text string) (any, bool) {
	if slices.Contains(types, "boolean") {
		switch strings.ToLower(text) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	v, err := schema.Decode([]byte(text))
	if err != nil || !fitsAny(types, v) {
		return nil, false
	}
	return v, true
}

// typesOf lists the types that a subschema allows, by its type keyword or by the
// values that it enumerates; none when it allows all.
func typesOf(sub map[string]any) []string {
	if types := typeNames(sub["type"]); len(types) > 0 {
		return types
	}
	values := list(sub["enum"])
	if v, ok := sub["const"]; ok {
		values = []any{v}
	}
	var types []string
	for _, v := range values {
		types = append(types, typeOf(v))
	}
	return types
}

// fitsAny reports whether v has one of types, of which none means any.
func fitsAny(types []string, v any) bool {
	if len(types) == 0 {
		return true
	}
	name := typeOf(v)
	return slices.Contains(types, name) ||
		name == "number" && slices.Contains(types, "integer") && isIntegral(v) ||
		name == "integer" && slices.Contains(types, "number")
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

// isIntegral reports whether a number has no fraction, like 3.0.
func isIntegral(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	r, ok := new(big.Rat).SetString(string(n))
	return ok && r.IsInt()
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
