package schema

import (
	"maps"
	"regexp"
	"slices"
)

// foreign reports whether Go's regular expressions cannot say a pattern.
func foreign(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err != nil
}

// ignorePattern takes out the pattern of texts that Go cannot say.
func (d *document) ignorePattern(s map[string]any, at string) {
	if pattern, ok := s["pattern"].(string); ok && foreign(pattern) {
		delete(s, "pattern")
		d.ignored = append(d.ignored, join(at, "pattern"))
	}
}

// ignoreNames takes out the patterns of names that Go cannot say. Any name may have
// them, so that nothing is said of further names either: all are described.
func (d *document) ignoreNames(s map[string]any, at string) {
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if !foreign(pattern) {
			continue
		}
		delete(patterns, pattern)
		d.ignored = append(d.ignored, join(join(at, "patternProperties"), pattern))
		if _, said := patterns[""]; !said {
			patterns[""] = true
		}
	}
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
