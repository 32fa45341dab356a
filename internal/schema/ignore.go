package schema

import (
	"fmt"
	"maps"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// isForeign reports whether Go cannot express a pattern as a regular expression of a
// bounded size. The error is for a document with too many patterns.
func (d *document) isForeign(expr, at string) (bool, error) {
	size, syntaxErr, tooMany := d.patterns.Check(expr)
	if tooMany != nil {
		return true, fmt.Errorf("at %q: %w", at, tooMany)
	}
	if d.sizes == nil {
		d.sizes = map[string]int{}
	}
	d.sizes[expr] = size
	return syntaxErr != nil, nil
}

// ignorePattern removes the pattern of a string if Go cannot express it.
func (d *document) ignorePattern(s map[string]any, at string) error {
	expr, ok := s["pattern"].(string)
	if !ok {
		return nil
	}
	at = tree.Join(at, "pattern")
	foreign, err := d.isForeign(expr, at)
	if foreign {
		delete(s, "pattern")
		d.ignored = append(d.ignored, at)
	}
	return err
}

// ignorePropertyPatterns removes the patterns of property names that Go cannot express. Any
// property may match one of them, so the rules for additional properties no longer apply.
func (d *document) ignorePropertyPatterns(s map[string]any, at string) error {
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, expr := range tree.Keys(patterns) {
		at := tree.Join(at, "patternProperties", expr)
		foreign, err := d.isForeign(expr, at)
		if err != nil {
			return err
		}
		if !foreign {
			continue
		}
		delete(patterns, expr)
		d.ignored = append(d.ignored, at)
		if _, set := patterns[""]; !set {
			patterns[""] = true
		}
	}
	return nil
}

// relax removes a keyword of s that reverses what its subschema allows: now that patterns of the
// subschema are ignored, the keyword would refuse values that the document allows. oneOf becomes anyOf, and a condition
// the choice between what it asks for if it is true and if it is false.
func relax(s map[string]any, keyword string) {
	switch keyword {
	case "not":
		delete(s, "not")
	case "if":
		isTrue, isFalse := []any{s["if"]}, any(true)
		if then, ok := s["then"]; ok {
			isTrue = append(isTrue, then)
		}
		if otherwise, ok := s["else"]; ok {
			isFalse = otherwise
		}
		maps.DeleteFunc(s, func(key string, _ any) bool { return key == "if" || key == "then" || key == "else" })
		addAnyOf(s, []any{map[string]any{"allOf": isTrue}, isFalse})
	case "contains":
		delete(s, "maxContains")
	case "oneOf":
		alternatives := s["oneOf"]
		delete(s, "oneOf")
		addAnyOf(s, alternatives)
	}
}

// addAnyOf adds alternatives to s, beside those that it has.
func addAnyOf(s map[string]any, alternatives any) {
	if _, taken := s["anyOf"]; taken {
		all, _ := s["allOf"].([]any)
		s["allOf"] = append(all, map[string]any{"anyOf": alternatives})
		return
	}
	s["anyOf"] = alternatives
}

// ignoreLost removes the references whose target in the schema, root, has been removed or moved. All keywords around
// references have been relaxed.
func (d *document) ignoreLost(working, root any) {
	for _, s := range tree.LostReferences(working) {
		ref := tree.Text(s["$ref"])
		if tree.Leads(root, ref) {
			delete(s, "$ref")
			pointer, _ := tree.Fragment(ref)
			d.ignored = append(d.ignored, excerpt.CutAt(pointer, tree.MaxPath))
		}
	}
}

// relaxReferences relaxes all keywords with a reference below them, because it may lead
// to an ignored pattern. It reports whether v has references.
func relaxReferences(v any) (refers bool) {
	s, ok := v.(map[string]any)
	if !ok {
		return false
	}
	var around []string
	for a := range tree.Applicators() {
		below := false
		for _, sub := range a.In(s) {
			below = relaxReferences(sub) || below
		}
		if below {
			around = append(around, a.Keyword)
		}
	}
	for _, keyword := range around {
		relax(s, keyword)
	}
	return len(around) > 0 || tree.HasAny(s, []string{"$ref", "$dynamicRef", "$recursiveRef"})
}
