package schema

import (
	"fmt"
	"maps"
	"slices"

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
	for _, expr := range slices.Sorted(maps.Keys(patterns)) {
		at := tree.Join(tree.Join(at, "patternProperties"), expr)
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
// subschema are ignored, the keyword would refuse values that the document allows. oneOf becomes anyOf.
func relax(s map[string]any, keyword string) {
	switch keyword {
	case "not":
		delete(s, "not")
	case "if":
		maps.DeleteFunc(s, func(key string, _ any) bool { return key == "if" || key == "then" || key == "else" })
	case "contains":
		delete(s, "maxContains")
	case "oneOf":
		alternatives := s["oneOf"]
		delete(s, "oneOf")
		if _, taken := s["anyOf"]; taken {
			all, _ := s["allOf"].([]any)
			s["allOf"] = append(all, map[string]any{"anyOf": alternatives})
			return
		}
		s["anyOf"] = alternatives
	}
}

// relaxReferences relaxes all keywords with a reference below them, because it may lead
// to an ignored pattern. It reports whether v has references.
func relaxReferences(v any) (refers bool) {
	s, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for a := range tree.Applicators() {
		below := false
		for _, sub := range a.In(s) {
			below = relaxReferences(sub) || below
		}
		if below {
			relax(s, a.Keyword)
			refers = true
		}
	}
	_, static := s["$ref"]
	_, dynamic := s["$dynamicRef"]
	_, recursive := s["$recursiveRef"]
	return refers || static || dynamic || recursive
}
