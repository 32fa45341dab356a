package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// foreign reports whether Go's regular expressions cannot express a pattern
// within bounds. The error means too many patterns.
func (d *document) foreign(expr, at string) (bool, error) {
	size, foreign, over := d.patterns.Check(expr)
	if over != nil {
		return true, fmt.Errorf("at %q: %w", at, over)
	}
	if d.sizes == nil {
		d.sizes = map[string]int{}
	}
	d.sizes[expr] = size
	return foreign != nil, nil
}

// ignorePattern removes a pattern of texts that Go cannot express.
func (d *document) ignorePattern(s map[string]any, at string) error {
	expr, ok := s["pattern"].(string)
	if !ok {
		return nil
	}
	at = tree.Join(at, "pattern")
	foreign, err := d.foreign(expr, at)
	if foreign {
		delete(s, "pattern")
		d.ignored = append(d.ignored, at)
	}
	return err
}

// ignoreNames removes patterns of names that Go cannot express. Any name may
// match them, so the rules for further names are removed, too.
func (d *document) ignoreNames(s map[string]any, at string) error {
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, expr := range slices.Sorted(maps.Keys(patterns)) {
		at := tree.Join(tree.Join(at, "patternProperties"), expr)
		foreign, err := d.foreign(expr, at)
		if err != nil {
			return err
		}
		if !foreign {
			continue
		}
		delete(patterns, expr)
		d.ignored = append(d.ignored, at)
		if _, said := patterns[""]; !said {
			patterns[""] = true
		}
	}
	return nil
}

// ignoreWhere removes a keyword of s if its subschema lost patterns and would
// therefore refuse more values, instead of fewer.
func ignoreWhere(s map[string]any, keyword string) {
	switch keyword {
	case "not":
		delete(s, "not")
	case "if":
		maps.DeleteFunc(s, func(key string, _ any) bool { return key == "if" || key == "then" || key == "else" })
	case "contains":
		delete(s, "maxContains")
	case "oneOf":
		either := s["oneOf"]
		delete(s, "oneOf")
		if _, taken := s["anyOf"]; taken {
			all, _ := s["allOf"].([]any)
			s["allOf"] = append(all, map[string]any{"anyOf": either})
			return
		}
		s["anyOf"] = either
	}
}

// ignoreBehind removes keywords that would refuse more values because a
// reference may lead to an ignored pattern. It reports whether v has
// references.
func ignoreBehind(v any) (refers bool) {
	s, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for a := range tree.Applicators() {
		below := false
		for _, sub := range a.In(s) {
			below = ignoreBehind(sub) || below
		}
		if below {
			ignoreWhere(s, a.Keyword)
			refers = true
		}
	}
	_, static := s["$ref"]
	_, dynamic := s["$dynamicRef"]
	_, recursive := s["$recursiveRef"]
	return refers || static || dynamic || recursive
}
