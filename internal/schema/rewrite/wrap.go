package rewrite

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/pattern"
)

// rootWords are the keywords that a provider's root has no room for, one of which
// a root has that is wrapped.
var rootWords = []string{
	"$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "dependentRequired", "dependentSchemas", "dependencies",
}

// wrappers are the names that a wrapper may have, the preferred ones first. All
// providers take them.
var wrappers = []string{"input", "input2", "input3", "input_object", "input-object", "_input", "INPUT", "INPUT.2"}

// Wrapper names the one property in which arguments are asked for where a
// provider refuses the root of their schema and merging it would lose something.
// No property has that name, and no pattern of names fits it where there is
// another one, so that a root which is closed to other properties refuses it. It
// is "" for a root that is wrapped for no provider.
func Wrapper(root map[string]any) string {
	if !says(root, rootWords) {
		return ""
	}
	n := naming{taken: map[string]bool{}, patterns: map[string]*pattern.Pattern{}}
	n.collect(root)
	for _, name := range wrappers {
		if !n.taken[name] && !n.fits(name) {
			return name
		}
	}
	name := wrappers[0]
	for i := 2; n.taken[name]; i++ {
		name = wrappers[0] + strconv.Itoa(i)
	}
	return name
}

// naming is what the name of a wrapper must not be.
type naming struct {
	taken    map[string]bool
	patterns map[string]*pattern.Pattern // nil for those of another language
	budget   pattern.Budget              // for those in enumerated values, which nobody has looked at
}

// fits reports whether a name fits a pattern of names.
func (n *naming) fits(name string) bool {
	for _, p := range n.patterns {
		if p != nil && p.MatchString(name) {
			return true
		}
	}
	return false
}

// read takes a pattern of names. Beyond what the patterns of a schema may compile to
// together there are none.
func (n *naming) read(expr string) {
	if _, there := n.patterns[expr]; there {
		return
	}
	n.patterns[expr] = nil
	if _, foreign, over := n.budget.Check(expr); foreign == nil && over == nil {
		n.patterns[expr], _ = pattern.Compile(expr)
	}
}

// collect looks through the keys and the strings in v for what could be the name
// of a wrapper, and for patterns of names.
func (n *naming) collect(v any) {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "input") || strings.Contains(v, "INPUT") {
			n.taken[v] = true
		}
	case []any:
		for _, item := range v {
			n.collect(item)
		}
	case map[string]any:
		for _, expr := range keys(object(v["patternProperties"])) {
			n.read(expr)
		}
		for _, key := range keys(v) {
			n.collect(key)
			n.collect(v[key])
		}
	}
}

// wrap makes a root of one property, name, whose subschema is the old root. What
// belongs to the document stays at its root.
func wrap(root map[string]any, name string) map[string]any {
	m := mover{to: join("", "properties", name)}
	m.id = m.resolve(text(root["$id"]))
	inner := object(m.schema(root))
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
	id   string // of the document
	base string // of references where the copy has got to
	to   string // where the root moves, as a JSON pointer
}

// holdsData are keywords whose value is no subschema, whatever it looks like.
var holdsData = []string{"const", "enum", "default", "examples", "example"}

// schema copies a subschema. One with an $id of its own is another document,
// whose references may lead back to this one.
func (m mover) schema(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = m.schema(item)
		}
		return out
	case map[string]any:
		m.base = m.resolve(text(v["$id"]))
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
				out[key] = m.schema(member)
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
		out[name] = m.schema(sub)
	}
	return out
}

// resolve is the document that a reference is about, without a fragment.
func (m mover) resolve(ref string) string {
	ref, _, _ = strings.Cut(ref, "#")
	base, err := url.Parse(m.base)
	if err != nil || ref == "" {
		return m.base
	}
	resolved, err := base.Parse(ref)
	if err != nil {
		return ref
	}
	return resolved.String()
}

// reference is what a reference is after the move.
func (m mover) reference(ref string) string {
	if m.resolve(ref) != m.id {
		return ref
	}
	_, place, _ := strings.Cut(ref, "#")
	decoded, _ := fragment("#" + place)
	if place == "" || strings.HasPrefix(decoded, "/") &&
		!strings.HasPrefix(decoded, "/$defs/") && !strings.HasPrefix(decoded, "/definitions/") {
		place = m.to + place
	}
	if m.base != m.id { // in another document
		return m.id + "#" + place
	}
	return "#" + place
}
