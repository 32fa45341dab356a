package toolschema

import (
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Bounds of one repair.
const (
	maxRepairs  = 10_000              // visited subschemas
	maxCompared = 1 << 20             // steps of comparing, matching and parsing
	maxHops     = 16                  // references from one subschema to the next
	maxNested   = 4 * schema.MaxDepth // nesting of subschemas, with recursion
)

// repair writes a value in the form that the schema asks for, without guesses: it converts types, and drops nulls that
// stand for nothing and repeated items of sets. The result is validated again. It never changes a value in place.
type repair struct {
	doc    *tree.Document // the schema, with the remaining steps
	left   int            // subschemas that may still be visited
	nested int            // depth of the current subschema
}

func newRepair(root map[string]any) *repair {
	return &repair{doc: &tree.Document{Root: root, Left: maxCompared}, left: maxRepairs}
}

// descend begins the work on a subschema, and ascend ends it. descend returns false if s is not an object, or if a
// bound is reached.
func (r *repair) descend(s any) (sub map[string]any, ok bool) {
	if r.left--; r.left < 0 || r.nested == maxNested {
		return nil, false
	}
	if sub, ok = s.(map[string]any); !ok || !r.spendReading(sub) {
		return nil, false
	}
	r.nested++
	return sub, true
}

func (r *repair) ascend() { r.nested-- }

// spendReading spends the steps for reading a subschema.
func (r *repair) spendReading(sub map[string]any) bool {
	lists := len(tree.List(sub["enum"])) + len(tree.List(sub["required"])) + len(tree.List(sub["type"]))
	return r.doc.Spend(lists + len(tree.Object(sub["properties"])))
}

// value repairs v by the subschema s: by its own keywords, and by the subschemas that it applies to the same value.
func (r *repair) value(s, v any) any {
	sub, ok := r.descend(s)
	if !ok {
		return v
	}
	defer r.ascend()
	if types := allowedTypes(sub); len(types) > 0 && !fitsAny(types, v) {
		v = r.convert(types, v)
	}
	switch w := v.(type) {
	case map[string]any:
		v = r.object(sub, w)
	case []any:
		v = r.array(sub, w)
	case string:
		v = r.enumValue(tree.List(sub["enum"]), w)
	}
	return r.repairApplied(sub, v)
}

// repairApplied repairs v by the subschemas that sub applies to the same value.
func (r *repair) repairApplied(sub map[string]any, v any) any {
	if target := r.target(sub); target != nil {
		v = r.value(target, v)
	}
	for _, part := range tree.List(sub["allOf"]) {
		v = r.value(part, v)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := tree.List(sub[keyword]); len(branches) > 0 {
			v = r.branch(branches, v)
		}
	}
	if condition, ok := sub["if"]; ok {
		v = r.value(sub[r.branchKeyword(condition, v)], v)
	}
	if object, ok := v.(map[string]any); ok {
		for _, part := range r.dependents(sub, object) {
			v = r.value(part, v)
		}
	}
	return v
}

// branchKeyword returns the keyword that applies after an if: then or else.
func (r *repair) branchKeyword(condition, v any) string {
	if r.fits(condition, v) {
		return "then"
	}
	return "else"
}

// dependents returns the subschemas that apply because a property is present.
func (r *repair) dependents(sub, object map[string]any) []any {
	var out []any
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		parts := tree.Object(sub[keyword])
		if !r.doc.Spend(len(parts)) {
			return nil
		}
		for _, name := range tree.Keys(parts) {
			if _, present := object[name]; present {
				out = append(out, parts[name])
			}
		}
	}
	return out
}

// resolve follows the reference of a subschema. If the subschema has other keywords, resolve adds
// the target to its allOf. It returns nil if the target is not an object, or if a bound is reached.
func (r *repair) resolve(s any) map[string]any {
	for range maxHops {
		sub, ok := s.(map[string]any)
		if !ok || !r.spendReading(sub) {
			return nil
		}
		if _, ok := sub["$ref"].(string); !ok {
			return sub
		}
		s = r.target(sub)
		if len(sub) > 1 && s != nil {
			sub = tree.Without(sub, "$ref")
			sub["allOf"] = append([]any{s}, tree.List(sub["allOf"])...)
			return sub
		}
	}
	return nil
}

// target returns the target of sub's reference, nil if it has none or if the target is outside the document.
func (r *repair) target(sub map[string]any) any {
	ref, _ := sub["$ref"].(string)
	target, _ := r.doc.Resolve(ref)
	return target
}
