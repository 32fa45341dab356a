package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// rootWords are the keywords that a provider's root has no room for, one of which
// a root has that is wrapped.
var rootWords = []string{
	"$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "dependentRequired", "dependentSchemas", "dependencies",
}

// Wrapper names the one property in which arguments are asked for where a
// provider refuses the root of their schema and merging it would lose something.
// No property has that name. It is "" for a root that is wrapped for no
// provider.
func Wrapper(root map[string]any) string {
	if !slices.ContainsFunc(rootWords, func(key string) bool { _, ok := root[key]; return ok }) {
		return ""
	}
	const name = "input"
	taken := map[string]bool{}
	mentions(root, name, taken)
	out := name
	for i := 2; taken[out]; i++ {
		out = name + strconv.Itoa(i)
	}
	return out
}

// mentions collects the keys and the strings in v that begin with prefix.
func mentions(v any, prefix string, found map[string]bool) {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, prefix) {
			found[v] = true
		}
	case []any:
		for _, item := range v {
			mentions(item, prefix, found)
		}
	case map[string]any:
		for key, member := range v {
			mentions(key, prefix, found)
			mentions(member, prefix, found)
		}
	}
}

// wrap makes a root of one property, name, whose subschema is the old root. What
// belongs to the document stays at its root.
func wrap(root map[string]any, name string) map[string]any {
	m := mover{id: strings.TrimSuffix(text(root["$id"]), "#"), to: join("#", "properties", name)}
	inner := object(m.schema(root, true))
	out := map[string]any{
		"type": "object", "description": "Give all arguments in " + strconv.Quote(name) + ".",
		"properties": map[string]any{name: inner}, "required": []any{name}, "additionalProperties": false,
	}
	for _, key := range []string{"$schema", "$id", "id", "$defs", "definitions"} {
		copyKeys(out, inner, key)
		delete(inner, key)
	}
	inner["type"] = "object"
	return out
}

// unwrapped is a path in a wrapped schema as it is in the one that was wrapped.
func unwrapped(path, name string) string {
	prefix := join("", "properties", name)
	if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
		return rest
	}
	return path
}

// mover copies a document whose root moves, with the references into it.
type mover struct {
	id string // of the document
	to string // where the root moves
}

// holdsData are keywords whose value is no subschema, whatever it looks like.
var holdsData = []string{"const", "enum", "default", "examples", "example"}

// schema copies a subschema. One with an $id of its own is another document.
func (m mover) schema(v any, isRoot bool) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = m.schema(item, false)
		}
		return out
	case map[string]any:
		if _, other := v["$id"].(string); other && !isRoot {
			return v
		}
		out := make(map[string]any, len(v))
		for key, member := range v {
			switch {
			case slices.Contains(holdsData, key):
				out[key] = member
			case (key == "$ref" || key == "$dynamicRef") && text(member) != "":
				out[key] = m.reference(text(member))
			case slices.Contains(holdsMap, key) || key == "dependencies":
				out[key] = m.members(member)
			default:
				out[key] = m.schema(member, false)
			}
		}
		return out
	}
	return v
}

// members copies subschemas by name.
func (m mover) members(v any) any {
	named, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(named)
	for name, sub := range out {
		out[name] = m.schema(sub, false)
	}
	return out
}

// reference is what a reference is after the move.
func (m mover) reference(ref string) string {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok && m.id != "" {
		pointer, ok = strings.CutPrefix(ref, m.id+"#")
		ok = ok || ref == m.id
		if ref == m.id {
			pointer = ""
		}
	}
	switch {
	case !ok:
		return ref
	case pointer == "" || strings.HasPrefix(pointer, "/") &&
		!strings.HasPrefix(pointer, "/$defs/") && !strings.HasPrefix(pointer, "/definitions/"):
		return m.to + pointer
	}
	return "#" + pointer
}
