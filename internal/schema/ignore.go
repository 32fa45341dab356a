package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// foreign reports whether Go's regular expressions cannot say a pattern, or not
// within bounds. The error says that there are too many patterns.
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

// ignorePattern takes out the pattern of texts that Go cannot say.
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

// ignoreNames takes out the patterns of names that Go cannot say. Any name may have
// them, so that nothing is said of further names either: all are described.
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

// ignoreWhere takes out of s what would be demanded of more values, and not of
// fewer, by a subschema under a keyword without the patterns that were ignored in
// it.
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

// ignoreBehind takes out, where a pattern was ignored that references may lead to,
// what would be demanded of more values then. It reports whether v refers to
// anything.
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
