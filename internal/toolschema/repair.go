package toolschema

import (
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxRepairs bounds the subschemas that one repair looks at.
const maxRepairs = 10_000

// maxCompared bounds the compared names and values, the matching of patterns
// and the reading of texts in one repair.
const maxCompared = 1 << 20

// maxHops bounds the references from one subschema to the next.
const maxHops = 16

// maxNested bounds the nesting of subschemas in one repair, recursion included.
const maxNested = 4 * schema.MaxDepth

// repair changes a value to its meaning by the schema. It guesses nothing:
// every change keeps the information, and the result is validated anyway.
// repair never changes values in place.
type repair struct {
	doc    *tree.Document // the schema, with the remaining steps
	left   int            // subschemas
	nested int            // depth of the current subschema
}

func newRepair(root map[string]any) *repair {
	return &repair{doc: &tree.Document{Root: root, Left: maxCompared}, left: maxRepairs}
}

// enter begins a subschema, and leave ends it. enter returns false if the
// subschema has no keyword for a repair, or a bound is reached.
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

// read takes the cost of reading a subschema from the steps.
func (r *repair) read(sub map[string]any) bool {
	properties, _ := sub["properties"].(map[string]any)
	return r.doc.Spend(len(list(sub["enum"])) + len(list(sub["required"])) + len(list(sub["type"])) + len(properties))
}

// value repairs v by the subschema s: by its own keywords, by the subschemas
// that it applies to the same value, and by its rules for unevaluated parts.
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

// outcome is the keyword that applies after the condition of an if: then or
// else.
func (r *repair) outcome(condition, v any) string {
	if r.fits(condition, v) {
		return "then"
	}
	return "else"
}

// dependents lists the subschemas that apply because a property is present.
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

// resolve follows references inside the document. A reference beside other
// keywords becomes a part of an allOf. It returns nil if the subschema has no
// keyword for a repair, or a bound is reached.
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

// target is the target of sub's reference, nil if there is none or if it is
// outside the document.
func (r *repair) target(sub map[string]any) any {
	ref, _ := sub["$ref"].(string)
	target, _ := r.doc.Resolve(ref)
	return target
}
