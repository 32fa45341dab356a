package toolschema

import (
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxRepairs bounds the subschemas that one repair looks at.
const maxRepairs = 10_000

// maxCompared bounds the names and the values that one repair looks through, the
// matching of patterns and the reading of texts.
const maxCompared = 1 << 20

// maxHops bounds the references from one subschema to the next.
const maxHops = 16

// maxNested bounds how deeply the subschemas that one repair looks at are nested,
// those that refer to themselves included.
const maxNested = 4 * schema.MaxDepth

// repair changes a value to what its schema says was meant. It guesses nothing:
// every change keeps the information, and what it returns is validated anyway.
// Values are never changed in place.
type repair struct {
	doc    *tree.Document // the schema, with the steps of comparing that are left
	left   int            // subschemas
	nested int            // of maxNested that are being looked at
}

func newRepair(root map[string]any) *repair {
	return &repair{doc: &tree.Document{Root: root, Left: maxCompared}, left: maxRepairs}
}

// enter begins to look at a subschema, and leave ends it. It returns false when
// that says nothing that a repair could go by, or too much.
func (r *repair) enter(s any) (sub map[string]any, ok bool) {
	if r.left--; r.left < 0 || r.nested == maxNested {
		return nil, false
	}
	if sub, ok = s.(map[string]any); !ok || !r.read(sub) {
		return nil, false
	}
	r.nested++
	return sub, true
}

func (r *repair) leave() { r.nested-- }

// read takes what reading a subschema costs from what may be compared.
func (r *repair) read(sub map[string]any) bool {
	properties, _ := sub["properties"].(map[string]any)
	return r.doc.Spend(len(list(sub["enum"])) + len(list(sub["required"])) + len(list(sub["type"])) + len(properties))
}

// value repairs v by the subschema s: by what that says itself, by all that it
// applies to the same value, and by what it says of the rest.
func (r *repair) value(s, v any) any {
	sub, ok := r.enter(s)
	if !ok {
		return v
	}
	defer r.leave()
	if types := typesOf(sub); len(types) > 0 && !fitsAny(types, v) {
		v = r.convert(types, v)
	}
	switch w := v.(type) {
	case map[string]any:
		v = r.object(sub, w)
	case []any:
		v = r.array(sub, w)
	case string:
		v = r.enumerated(list(sub["enum"]), w)
	}
	return r.unevaluated(sub, r.applied(sub, v))
}

// applied repairs v by the subschemas that sub applies to the same value.
func (r *repair) applied(sub map[string]any, v any) any {
	if target := r.target(sub); target != nil {
		v = r.value(target, v)
	}
	for _, part := range list(sub["allOf"]) {
		v = r.value(part, v)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := list(sub[keyword]); len(branches) > 0 {
			v = r.branch(branches, v)
		}
	}
	if condition, ok := sub["if"]; ok {
		v = r.value(sub[r.outcome(condition, v)], v)
	}
	if object, ok := v.(map[string]any); ok {
		for _, part := range r.dependents(sub, object) {
			v = r.value(part, v)
		}
	}
	return v
}

// outcome is the keyword that holds when the condition of an if does, or not.
func (r *repair) outcome(condition, v any) string {
	if r.fits(condition, v) {
		return "then"
	}
	return "else"
}

// dependents lists the subschemas that hold because of a property that is there.
func (r *repair) dependents(sub, object map[string]any) []any {
	var out []any
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		parts, _ := sub[keyword].(map[string]any)
		if !r.doc.Spend(len(parts)) {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			if _, there := object[name]; there {
				out = append(out, parts[name])
			}
		}
	}
	return out
}

// resolve follows references inside the document; one that something stands beside
// becomes a part of an allOf. It returns nil for a subschema that says nothing
// that a repair could go by, or too much.
func (r *repair) resolve(s any) map[string]any {
	for range maxHops {
		sub, ok := s.(map[string]any)
		if !ok || !r.read(sub) {
			return nil
		}
		if _, ok := sub["$ref"].(string); !ok {
			return sub
		}
		s = r.target(sub)
		if len(sub) > 1 && s != nil {
			sub = maps.Clone(sub)
			delete(sub, "$ref")
			sub["allOf"] = append([]any{s}, list(sub["allOf"])...)
			return sub
		}
	}
	return nil
}

// target is what the reference of sub refers to, nil when there is none or when
// it leads out of the document.
func (r *repair) target(sub map[string]any) any {
	ref, _ := sub["$ref"].(string)
	target, _ := r.doc.Resolve(ref)
	return target
}
